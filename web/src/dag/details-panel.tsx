import { useEffect, useRef, useState } from 'react';
import { getTask } from '../api/client.ts';
import type { Task } from '@heddle/client';
import { JsonBlock } from '../json-block.tsx';
import { Problem } from '../problem.tsx';
import { StatusChip } from '../status-chip.tsx';
import { isTerminal, statusFromWire } from '../status.ts';
import { useNow } from '../times.ts';
import { ArtifactsSection } from './artifacts-section.tsx';
import { AttemptsSection } from './attempts-section.tsx';
import { LogSection } from './log-section.tsx';
import { ExplainSection } from './explain-section.tsx';
import type { LiveFeed } from '../live/live-feed.ts';
import { Relatives } from './relatives.tsx';
import { useStoreVersion } from './subscriptions.ts';
import { TaskActions } from './task-actions.tsx';
import { TaskFields } from './task-fields.tsx';
import type { TaskStore } from './task-store.ts';

interface DetailsPanelProps {
  id: string;
  store: TaskStore;
  feed: LiveFeed;
  onSelect: (id: string | null) => void;
}

/** The details of one task, reread whenever the task changes. */
export function DetailsPanel({ id, store, feed, onSelect }: DetailsPanelProps) {
  useStoreVersion(store);
  const view = store.tasks.get(id);
  const stamp = `${view?.status ?? ''} ${view?.updatedAt ?? 0}`;
  const { task, error, reread } = useTask(id, stamp);
  const now = useNow(1000, task?.ended_at === null);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.scrollIntoView({ block: 'nearest' }), []);
  const status = view?.status ?? statusFromWire(task?.status ?? 'Waiting');
  const afterOperation = (): void => {
    reread();
    feed.reopen();
    feed.refresh().catch(() => undefined);
  };
  return (
    <div className="details" data-testid="details">
      <button type="button" className="plain back" onClick={() => onSelect(null)}>
        ‹ All tasks
      </button>
      <h2 ref={heading} data-testid="task-name">
        {view?.name ?? task?.name}
      </h2>
      <p className="details-status">
        <StatusChip status={status} />
        <span className="quiet">{view?.kind ?? task?.kind}</span>
      </p>
      <TaskActions
        id={id}
        name={view?.name ?? ''}
        status={status}
        consequence="Tasks that require its success will fail. You can retry it later."
        onDone={afterOperation}
      />
      {error !== null && <Problem error={error} />}
      {task !== null && task.failure_reason !== null && (
        <div className="reason" data-status={status}>
          <h3>Reason</h3>
          <p>{task.failure_reason}</p>
        </div>
      )}
      {!isTerminal(status) && (
        <ExplainSection
          id={id}
          running={status === 'Running'}
          stamp={stamp}
          knows={(other) => store.tasks.has(other)}
          onSelect={onSelect}
        />
      )}
      {task === null && error === null && <p className="quiet">Loading…</p>}
      {task !== null && <TaskFields task={task} now={now} owner="Batch" />}
      {task !== null && <AttemptsSection task={task} now={now} />}
      {task !== null && <ArtifactsSection task={task} />}
      {task !== null && <LogSection task={task} />}
      <Relatives id={id} store={store} onSelect={onSelect} />
      {task !== null && <TaskExtras task={task} />}
    </div>
  );
}

function useTask(id: string, stamp: string): { task: Task | null; error: unknown; reread: () => void } {
  const [state, setState] = useState<{ task: Task | null; error: unknown }>({ task: null, error: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stopped = new AbortController();
    getTask(id, stopped.signal).then(
      (task) => setState({ task, error: null }),
      (error: unknown) => {
        if (!stopped.signal.aborted) setState((last) => ({ ...last, error }));
      },
    );
    return () => stopped.abort();
  }, [id, stamp, turn]);
  return { ...state, reread: () => setTurn((last) => last + 1) };
}

const SHOWN_ELSEWHERE = new Set([
  ...['id', 'name', 'kind', 'status', 'timeout', 'metadata', 'actions', 'created_at', 'started_at', 'ended_at'],
  ...['last_updated', 'success', 'failures', 'expected_count', 'failure_reason', 'batch_id', 'attempt', 'priority'],
]);

function TaskExtras({ task }: { task: Task }) {
  const rest = Object.entries(task).filter(
    ([key, value]) => !SHOWN_ELSEWHERE.has(key) && value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return (
    <>
      {task.actions.length > 0 && (
        <section>
          <h3>Actions</h3>
          {task.actions.map((action, i) => (
            <details key={i} className="action">
              <summary>
                <b>{action.trigger}</b> {action.params.verb} <span className="breakable">{action.params.url}</span>
              </summary>
              <JsonBlock value={action.params} />
            </details>
          ))}
        </section>
      )}
      <section>
        <h3>Metadata</h3>
        {isEmpty(task.metadata) ? <p className="quiet">none</p> : <JsonBlock value={task.metadata} testId="metadata" />}
      </section>
      {rest.map(([key, value]) => (
        <section key={key}>
          <h3>{key}</h3>
          {typeof value === 'object' ? (
            <JsonBlock value={value as unknown} />
          ) : (
            <p className="breakable">{String(value)}</p>
          )}
        </section>
      ))}
    </>
  );
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);
}
