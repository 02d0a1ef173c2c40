import type { Task, TaskAttempt } from '@heddle/client';
import { Link } from 'wouter';
import { tasks } from '../api/tasks.ts';
import { useLive } from '../data/live.ts';
import { Empty } from '../ui/empty.tsx';
import { Trouble } from '../ui/problem.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { stateOfOutcome } from '../ui/state.ts';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Took } from '../ui/time.tsx';

const COLUMNS: readonly Column<TaskAttempt>[] = [
  { header: 'No.', number: true, cell: ({ attempt }) => attempt },
  {
    header: 'Outcome',
    cell: ({ outcome, exit_code }) => (
      <span className="state-badge">
        <StateGlyph state={stateOfOutcome(outcome)} />
        {outcome?.replaceAll('_', ' ') ?? 'not ended'}
        {exit_code !== null && <span className="quiet">exit {exit_code}</span>}
      </span>
    ),
  },
  { header: 'Reason', grow: true, cell: ({ reason }) => <span title={reason ?? undefined}>{reason ?? ''}</span> },
  {
    header: 'Worker or target',
    cell: ({ target, target_status, claimed_by }) => (
      <span title={claimed_by ?? undefined}>
        {target ?? claimed_by ?? '–'}
        {target_status !== null && <span className="quiet"> answered {target_status}</span>}
      </span>
    ),
  },
  { header: 'Claimed', cell: ({ claimed_at }) => <Ago at={claimed_at} /> },
  { header: 'Ran', number: true, cell: ({ started_at, ended_at }) => <Took from={started_at} to={ended_at} /> },
];

/** Every attempt of a task, newest first. */
export function AttemptsTab({ task }: { task: Task }) {
  const { id, attempt, status } = task;
  const { data, error, dataUpdatedAt } = useLive(['attempts', id, attempt, status], (signal) =>
    tasks.attempts(id, signal),
  );
  if (attempt === 0) return <Empty title="It has not been attempted">The summary says what it waits for.</Empty>;
  return (
    <>
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      <Table label="Attempts" columns={COLUMNS} rows={data ?? []} rowId={(each) => String(each.attempt)} />
      <p className="quiet">
        What an attempt printed is in its <Link href={`/tasks/${id}?tab=logs`}>log</Link>.
      </p>
    </>
  );
}
