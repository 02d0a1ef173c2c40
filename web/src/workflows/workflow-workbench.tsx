import { useMemo, useRef, useState } from 'react';
import { FeedBanner, FeedSignal } from '../live/feed-banner.tsx';
import type { LiveFeed } from '../live/live-feed.ts';
import { useSlashKey } from '../slash-key.ts';
import { formatDuration, parseTime, useNow } from '../times.ts';
import { TopBar } from '../top-bar.tsx';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { useListedTasks } from './listed-task.ts';
import { NodeList } from './node-list.tsx';
import { NodePanel } from './node-panel.tsx';
import { BAD_STATES } from './node-state.ts';
import type { NodeState } from './node-state.ts';
import { StateChip } from './state-chip.tsx';
import { StateLegend } from './state-legend.tsx';
import { TallyBar } from './tally-bar.tsx';
import { TreeCanvas } from './tree-canvas.tsx';
import { TreeContext, useSelected, useStoreVersion, useTally } from './tree-context.ts';
import type { TreeModel } from './tree-context.ts';
import { WorkflowActions } from './workflow-actions.tsx';

interface WorkbenchProps {
  workflowId: string;
  model: TreeModel;
  feed: LiveFeed;
}

/** The tree of a loaded workflow with its controls. */
export function WorkflowWorkbench({ workflowId, model, feed }: WorkbenchProps) {
  const { store, view } = model;
  const version = useStoreVersion(store);
  const selected = useSelected(view);
  const [shown, setShown] = useState<ReadonlySet<NodeState>>(() => new Set());
  const [query, setQuery] = useState('');
  const search = useRef<HTMLInputElement>(null);
  const { tasks, searching } = useListedTasks(store, version, query, shown);
  useSlashKey(search);
  const title = store.workflow?.name ?? `Workflow ${workflowId.slice(0, 13)}`;
  const find = (change: () => void): void => {
    change();
    view.select(null);
  };
  const open = (id: string): void => {
    if (store.nodes.has(id)) view.reveal(id);
    else view.select(id);
  };
  const afterOperation = (): void => {
    feed.reopen();
    feed.refresh().catch(() => undefined);
  };
  return (
    <TreeContext value={useMemo(() => ({ store, view }), [store, view])}>
      <div className="page workbench">
        <TopBar>
          <div className="batch-title">
            <h1 title={workflowId}>{title}</h1>
            <FeedSignal feed={feed} />
          </div>
        </TopBar>
        <FeedBanner feed={feed} />
        <section className="summary" aria-label="Progress">
          <div className="workflow-head">
            <Progress model={model} />
            <Actions workflowId={workflowId} title={title} model={model} onDone={afterOperation} />
          </div>
          <div className="controls">
            <Legend model={model} shown={shown} onChange={(next) => find(() => setShown(next))} />
            <input
              ref={search}
              type="search"
              className="task-search"
              placeholder="Find a task  ( / )"
              aria-label="Find tasks by name, kind or ID"
              value={query}
              onChange={(event) => find(() => setQuery(event.target.value))}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && tasks[0] !== undefined) open(tasks[0].id);
              }}
            />
          </div>
          <Breadcrumbs />
        </section>
        <div className="stage">
          <TreeCanvas />
          <aside className="panel" aria-label={selected === null ? 'Tasks' : 'Details'}>
            {selected === null ? (
              <NodeList
                tasks={tasks}
                total={store.workflow?.task_count ?? tasks.length}
                filtering={shown.size > 0 || query.trim() !== ''}
                searching={searching}
                onShowAll={() => {
                  setShown(new Set());
                  setQuery('');
                }}
                onSelect={open}
              />
            ) : (
              <NodePanel key={selected} id={selected} onChanged={afterOperation} />
            )}
          </aside>
        </div>
      </div>
    </TreeContext>
  );
}

function Legend(props: { model: TreeModel; shown: ReadonlySet<NodeState>; onChange: (shown: Set<NodeState>) => void }) {
  const { model, shown, onChange } = props;
  const tally = model.store.tally(model.store.rootId ?? '');
  return <StateLegend tally={tally} shown={shown} onChange={(next) => onChange(new Set(next))} />;
}

function Actions(props: { workflowId: string; title: string; model: TreeModel; onDone: () => void }) {
  const { workflowId, title, model, onDone } = props;
  const { store } = model;
  const root = store.rootId ?? '';
  const tally = useTally(root);
  const state = store.root?.state;
  return (
    <WorkflowActions
      id={workflowId}
      name={title}
      paused={store.workflow?.paused ?? false}
      finished={store.finished}
      retryable={BAD_STATES.some((bad) => tally[bad] > 0 || state === bad)}
      remaining={store.workflow?.remaining ?? 0}
      onDone={onDone}
    />
  );
}

/** Progress of the workflow: its state, a bar by state, the count, the time. */
function Progress({ model: { store } }: { model: TreeModel }) {
  const tally = useTally(store.rootId ?? '');
  const now = useNow(1000, !store.finished);
  const { workflow, root } = store;
  if (workflow === null || root === null) return null;
  const done = workflow.task_count - workflow.remaining;
  const from = parseTime(workflow.created_at);
  const to = parseTime(workflow.ended_at) ?? root.endedAt;
  const failed = tally.Failed + tally.Timeout;
  return (
    <div className="progress-summary">
      <p className="tabular" data-testid="progress">
        <StateChip state={root.state} paused={workflow.paused} />{' '}
        <span>
          <strong>
            {done.toLocaleString()} of {workflow.task_count.toLocaleString()}
          </strong>{' '}
          {workflow.task_count === 1 ? 'task' : 'tasks'} ended
        </span>
        {failed > 0 && <span className="failed-count"> · {failed.toLocaleString()} failed</span>}
        {from !== null && (
          <span className="quiet">
            {' '}
            · {store.finished ? 'took' : 'running for'} {formatDuration((store.finished ? (to ?? now) : now) - from)}
          </span>
        )}
      </p>
      <TallyBar tally={tally} />
      {root.reason !== null && <p className="failed-count breakable">{root.reason}</p>}
    </div>
  );
}
