import { useEffect, useRef, useState } from 'react';
import { getTask } from '../api/client.ts';
import { getResult } from '../api/workflows.ts';
import type { Task } from '@heddle/client';
import { ArtifactsSection } from '../dag/artifacts-section.tsx';
import { AttemptsSection } from '../dag/attempts-section.tsx';
import { LogSection } from '../dag/log-section.tsx';
import { ExplainSection } from '../dag/explain-section.tsx';
import { TaskActions } from '../dag/task-actions.tsx';
import { CopyText, Field, TaskFields } from '../dag/task-fields.tsx';
import { JsonBlock } from '../json-block.tsx';
import { Problem } from '../problem.tsx';
import { StatusChip } from '../status-chip.tsx';
import { statusFromWire } from '../status.ts';
import { formatAgo, formatDuration, formatMoment, useNow } from '../times.ts';
import { MergedLink } from './merged-link.tsx';
import { STATE_MEANING, isEnd } from './node-state.ts';
import { StateChip } from './state-chip.tsx';
import { endedOf, totalOf } from './tally.ts';
import { TallyBar } from './tally-bar.tsx';
import { useTally, useTree, useTreeNode } from './tree-context.ts';
import type { ContainerNode, TreeNode } from './tree-node.ts';

interface NodePanelProps {
  id: string;
  onChanged: () => void;
}

/** The details of one node, even of a task outside the loaded part of the tree. */
export function NodePanel({ id, onChanged }: NodePanelProps) {
  const { view } = useTree();
  const node = useTreeNode(id);
  return (
    <div className="details" data-testid="details">
      <button type="button" className="plain back" onClick={() => view.select(null)}>
        ‹ All tasks
      </button>
      {node?.type === 'container' ? (
        <ContainerDetails node={node} />
      ) : (
        <TaskDetails id={id} node={node} onChanged={onChanged} />
      )}
    </div>
  );
}

const POLICY_MEANING: Record<string, string> = {
  FailOnFailure: 'a failure stops its sequence',
  ContinueOnPartialFailure: 'a partial failure lets its sequence continue',
  ContinueOnFailure: 'any failure lets its sequence continue',
};

function Policy({ policy }: { policy: string }) {
  return (
    <Field label="Policy">
      {policy}
      <span className="quiet"> · {POLICY_MEANING[policy] ?? ''}</span>
    </Field>
  );
}

function Place({ node }: { node: TreeNode }) {
  const { store, view } = useTree();
  const parent = node.parent === null ? undefined : store.nodes.get(node.parent);
  if (parent === undefined) return null;
  return (
    <Field label="Within">
      <button type="button" className="link" onClick={() => view.reveal(parent.id)}>
        {parent.label}
      </button>
      <span className="quiet"> · level {store.ancestors(node.id).length}</span>
    </Field>
  );
}

function Reason({ state, reason }: { state: string; reason: string | null }) {
  if (reason === null) return null;
  return (
    <div className="reason" data-status={state === 'Disabled' ? '' : 'Failure'}>
      <h3>Reason</h3>
      <p>{reason}</p>
    </div>
  );
}

function ContainerDetails({ node }: { node: ContainerNode }) {
  const { store, view } = useTree();
  const tally = useTally(node.id);
  const now = useNow(1000, node.endedAt === null);
  const turn = node.state === 'Pending' ? waitsFor(store, node) : null;
  const group = view.group(node.id);
  return (
    <>
      <h2 data-testid="task-name">{node.label}</h2>
      <p className="details-status">
        <StateChip state={node.state} />
        <span className="quiet">{node.mode === 'sequential' ? 'a sequence' : 'in parallel'}</span>
      </p>
      <p className="quiet">{STATE_MEANING[node.state]}</p>
      <div className="actions">
        <button type="button" onClick={() => view.zoomTo(node.id)}>
          Focus
        </button>
        {view.focus !== node.id && (
          <button type="button" onClick={() => view.toggle(node.id)}>
            {group.open ? 'Close' : 'Open'}
          </button>
        )}
      </div>
      <Reason state={node.state} reason={node.reason} />
      {turn !== null && (
        <section className="explain" data-testid="explain">
          <h3>Why it is not running</h3>
          <p>{turn}</p>
        </section>
      )}
      {node.openGenerators > 0 && !isEnd(node.state) && (
        <p className="explain">
          {node.openGenerators === 1 ? 'A generator' : `${node.openGenerators} generators`} may still add children, so
          it stays open.
        </p>
      )}
      <section>
        <h3>Tasks</h3>
        <TallyBar tally={tally} />
        <p className="tabular">
          {endedOf(tally).toLocaleString()} of {totalOf(tally).toLocaleString()} ended
        </p>
      </section>
      <dl className="fields">
        <Field label="Children">
          <span className="tabular">
            {node.counts.children.toLocaleString()}
            <span className="quiet"> · {node.counts.open.toLocaleString()} unfinished</span>
            {node.counts.tolerated > 0 && (
              <span className="quiet"> · {node.counts.tolerated.toLocaleString()} tolerated failures</span>
            )}
          </span>
        </Field>
        <Ran from={node.startedAt} to={node.endedAt} now={now} />
        <Policy policy={node.policy} />
        <Place node={node} />
        {node.localId !== null && <Field label="Local name">{node.localId}</Field>}
        <Field label="Container">
          <CopyText text={node.id} />
        </Field>
      </dl>
    </>
  );
}

/** Describes what a container waits for. */
function waitsFor(store: ReturnType<typeof useTree>['store'], node: ContainerNode): string {
  const parent = node.parent === null ? undefined : store.nodes.get(node.parent);
  if (parent?.type !== 'container') return 'It starts as soon as the manager processes it.';
  if (parent.mode === 'parallel') return `It waits for its container "${parent.label}" to start.`;
  const siblings = store.childrenOf(parent.id);
  const before = siblings
    .slice(0, Math.max(0, siblings.indexOf(node.id)))
    .map((id) => store.nodes.get(id)!)
    .find((sibling) => !isEnd(sibling.state));
  return before === undefined
    ? `It waits for its container "${parent.label}" to start.`
    : `It is in a sequence and waits for "${before.label}" to end.`;
}

function Ran({ from, to, now }: { from: number | null; to: number | null; now: number }) {
  if (from === null) return null;
  return (
    <Field label="Ran" title={`started ${formatMoment(from)}`}>
      {formatDuration((to ?? now) - from)}
      <span className="quiet"> · started {formatAgo(from, now)}</span>
    </Field>
  );
}

function TaskDetails({ id, node, onChanged }: { id: string; node: TreeNode | undefined; onChanged: () => void }) {
  const { store, view } = useTree();
  const known = node?.type === 'task' ? node : undefined;
  const stamp = `${known?.state ?? ''} ${known?.updatedAt ?? 0}`;
  const { task, result, error, reread } = useTaskDetail(id, stamp);
  const now = useNow(1000, task?.ended_at === null);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.scrollIntoView({ block: 'nearest' }), []);
  const status = statusFromWire(known?.status ?? task?.status ?? 'Waiting');
  const ended = known === undefined ? task?.ended_at !== null : isEnd(known.state);
  return (
    <>
      <h2 ref={heading} data-testid="task-name">
        {known?.label ?? task?.name}
      </h2>
      <p className="details-status">
        {known !== undefined ? (
          <StateChip state={known.state} paused={known.status === 'Paused'} />
        ) : (
          task !== null && <StatusChip status={status} />
        )}
        <span className="quiet">{known?.kind ?? task?.kind}</span>
      </p>
      <TaskActions
        id={id}
        name={known?.label ?? ''}
        status={status}
        consequence="Its container continues according to its policy. You can retry it when the workflow has ended."
        onDone={() => {
          reread();
          onChanged();
        }}
      />
      {error !== null && <Problem error={error} />}
      {task !== null && <MergedLink kind={task.kind} input={task.metadata} />}
      <Reason state={known?.state ?? ''} reason={known?.reason ?? task?.failure_reason ?? null} />
      {task !== null && !ended && (
        <ExplainSection
          id={id}
          running={known?.state === 'Running'}
          stamp={stamp}
          knows={(other) => store.nodes.has(other)}
          onSelect={(other) => view.reveal(other)}
        />
      )}
      {task === null && error === null && <p className="quiet">Loading…</p>}
      {task !== null && <TaskFields task={task} now={now} owner="Workflow" />}
      {task !== null && <AttemptsSection task={task} now={now} />}
      {task !== null && <ArtifactsSection task={task} />}
      {task !== null && <LogSection task={task} />}
      {known !== undefined && (
        <dl className="fields">
          {known.expected !== null && (
            <Field label="Creates">
              <span className="tabular">
                {(known.created ?? 0).toLocaleString()} of {known.expected.toLocaleString()} nodes
              </span>
            </Field>
          )}
          <Policy policy={known.policy} />
          <Place node={known} />
        </dl>
      )}
      {task !== null && (
        <section>
          <h3>Input</h3>
          {isEmpty(task.metadata) ? (
            <p className="quiet">none</p>
          ) : (
            <JsonBlock value={task.metadata} testId="metadata" />
          )}
        </section>
      )}
      {ended && (
        <section>
          <h3>Result</h3>
          {result === null ? <p className="quiet">none</p> : <JsonBlock value={result} testId="result" />}
        </section>
      )}
    </>
  );
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);
}

interface Loaded {
  task: Task | null;
  result: unknown;
  error: unknown;
}

function useTaskDetail(id: string, stamp: string): Loaded & { reread: () => void } {
  const [state, setState] = useState<Loaded>({ task: null, result: null, error: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stopped = new AbortController();
    const read = async (): Promise<void> => {
      const task = await getTask(id, stopped.signal);
      const result = task.ended_at === null ? null : await getResult(id, stopped.signal);
      setState({ task, result: result?.data ?? null, error: null });
    };
    read().catch((error: unknown) => {
      if (!stopped.signal.aborted) setState((last) => ({ ...last, error }));
    });
    return () => stopped.abort();
  }, [id, stamp, turn]);
  return { ...state, reread: () => setTurn((last) => last + 1) };
}
