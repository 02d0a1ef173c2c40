import type { Run } from '@heddle/client';
import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { prepareLayout } from '../layout/client.ts';
import { FeedFrame } from '../live/feed-frame.tsx';
import { LiveFeed, REFRESH_INTERVAL_MS } from '../live/live-feed.ts';
import { PanelDetail } from '../live/panel-detail.tsx';
import { RunToolbar } from '../live/run-toolbar.tsx';
import { TaskList } from '../live/task-list.tsx';
import { TaskPanel } from '../live/task-panel.tsx';
import { useSelection } from '../live/use-selection.ts';
import { Empty } from '../ui/empty.tsx';
import type { State } from '../ui/state.ts';
import { DagSource } from './dag-source.ts';
import { FoldedGraph } from './folded-graph.ts';
import type { Graph } from './graph.ts';
import { GraphView } from './graph-view.tsx';
import { GroupPanel } from './group-panel.tsx';
import { listedTask } from './listed-task.ts';
import { Relatives } from './relatives.tsx';
import { matcherOf } from './task-filter.ts';
import { TaskStore } from './task-store.ts';
import type { TaskView } from './task-store.ts';

interface Model {
  store: TaskStore;
  folded: FoldedGraph;
  feed: LiveFeed;
}

function modelOf(batchId: string): Model {
  // Its script is loaded while the tasks are read.
  prepareLayout();
  const store = new TaskStore();
  return { store, folded: new FoldedGraph(store), feed: new LiveFeed(new DagSource(batchId, store)) };
}

/** The graph of a batch, with its tasks beside it. */
export function BatchView({ run }: { run: Run }) {
  const [model] = useState(() => modelOf(run.id));
  const { store, feed } = model;
  useEffect(() => {
    feed.start();
    return () => feed.stop();
  }, [feed]);
  useSyncExternalStore(store.subscribe, () => store.version);
  return (
    <FeedFrame feed={feed} endedAt={run.ended_at} loaded={store.loaded}>
      {() => (store.tasks.size === 0 ? <NoTasks /> : <Workbench model={model} />)}
    </FeedFrame>
  );
}

function NoTasks() {
  return (
    <div className="view">
      <Empty title="This batch has no tasks">
        Either every task of the request was a duplicate of an existing one, or the request was empty. See its response:
        deduplicated tasks belong to another batch.
      </Empty>
    </div>
  );
}

function keeperOf(shown: ReadonlySet<State>, query: string): (task: TaskView) => boolean {
  const matches = matcherOf(query);
  return (task) => (shown.size === 0 || shown.has(task.state)) && matches(task);
}

function Workbench({ model }: { model: Model }) {
  const { store, folded, feed } = model;
  const [graph, setGraph] = useState<Graph | null>(null);
  const [selected, select] = useSelection();
  const [shown, setShown] = useState<ReadonlySet<State>>(() => new Set());
  const [query, setQuery] = useState('');
  // The list and the graph follow when there is time, so that typing stays responsive.
  const searched = useDeferredValue(query);
  const autoRefresh = useAutoRefresh(feed);
  const isFiltering = searched.trim() !== '' || shown.size > 0;
  const keep = useMemo(() => keeperOf(shown, searched), [shown, searched]);
  const { version } = store;
  useEffect(() => graph?.highlight(isFiltering ? keep : null), [graph, isFiltering, keep, version]);
  useEffect(() => graph?.select(selected === '' ? null : selected), [graph, selected]);
  const selectFirst = (): void => {
    const found = [...store.tasks.values()].find(keeperOf(shown, query));
    if (found !== undefined) select(found.id);
  };
  return (
    <>
      <RunToolbar
        feed={feed}
        tally={store.tally}
        shown={shown}
        onShown={(next) => {
          setShown(next);
          select(null);
        }}
        query={query}
        onQuery={(next) => {
          setQuery(next);
          if (selected !== '') select(null);
        }}
        onEnter={selectFirst}
      >
        <label className="choice" title="Read the whole batch every 5 seconds, in addition to live updates">
          <input type="checkbox" checked={autoRefresh.on} onChange={(event) => autoRefresh.set(event.target.checked)} />
          Auto-refresh (5 s)
        </label>
      </RunToolbar>
      <div className="stage">
        <GraphView
          store={store}
          folded={folded}
          selected={selected === '' ? null : selected}
          onSelect={select}
          onGraph={setGraph}
        />
        <aside className="panel" aria-label={selected === '' ? 'Tasks' : 'Details'}>
          {selected === '' ? (
            <BatchTasks
              store={store}
              version={version}
              keep={isFiltering ? keep : null}
              onShowAll={() => {
                setShown(new Set());
                setQuery('');
              }}
              onSelect={select}
            />
          ) : (
            <Selected key={selected} id={selected} model={model} onSelect={select} />
          )}
        </aside>
      </div>
    </>
  );
}

interface BatchTasksProps {
  store: TaskStore;
  /** Represents the content of the store, which changes in place. */
  version: number;
  /** Null: all. */
  keep: ((task: TaskView) => boolean) | null;
  onShowAll: () => void;
  onSelect: (id: string) => void;
}

function BatchTasks({ store, version, keep, onShowAll, onSelect }: BatchTasksProps) {
  const listed = useMemo(() => {
    const tasks = [...store.tasks.values()];
    return (keep === null ? tasks : tasks.filter(keep)).map(listedTask);
  }, [store, version, keep]);
  return (
    <TaskList
      title="Tasks"
      tasks={listed}
      total={store.tasks.size}
      isFiltering={keep !== null}
      onShowAll={onShowAll}
      onSelect={onSelect}
    />
  );
}

function Selected({ id, model, onSelect }: { id: string; model: Model; onSelect: (id: string | null) => void }) {
  const { store, folded } = model;
  const unfolded = useSyncExternalStore(folded.subscribe, () => folded.isUnfolded(id));
  const group = folded.group(id);
  if (group !== undefined) {
    return (
      <PanelDetail back="All tasks" onBack={() => onSelect(null)}>
        <GroupPanel group={group} isUnfolded={unfolded} folded={folded} store={store} onSelect={onSelect} />
      </PanelDetail>
    );
  }
  const around = folded.groupOf(id);
  const task = store.tasks.get(id);
  return (
    <PanelDetail back={around?.name ?? 'All tasks'} onBack={() => onSelect(around?.id ?? null)}>
      <TaskPanel id={id} name={task?.name ?? null} stamp={`${task?.state} ${task?.updatedAt}`}>
        <Relatives id={id} store={store} onSelect={onSelect} />
      </TaskPanel>
    </PanelDetail>
  );
}

/** Full reads every few seconds, if enabled by the user. */
function useAutoRefresh(feed: LiveFeed): { on: boolean; set: (on: boolean) => void } {
  const [on, set] = useState(false);
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => void feed.refresh().catch(() => undefined), REFRESH_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [on, feed]);
  return { on, set };
}
