import type { Run } from '@heddle/client';
import { Link } from 'wouter';
import { jobAddress } from '../data/addresses.ts';
import { stateOf } from '../ui/state.ts';
import type { Tally } from '../ui/state.ts';
import { OutcomeBar, StateBadge } from '../ui/state.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Took } from '../ui/time.tsx';

export function tallyOf({ counts }: Run): Tally {
  const { succeeded, failed, canceled, skipped, remaining } = counts;
  return { succeeded, failed, canceled, skipped, open: remaining };
}

/** The columns of every list of runs: what it is, how it goes, and why it failed. */
export const RUN_COLUMNS: readonly Column<Run>[] = [
  { header: 'State', cell: ({ state }) => <StateBadge state={stateOf(state)} /> },
  {
    header: 'Run',
    grow: true,
    cell: ({ id, title, reason, failed_task }) => (
      <>
        <Link href={`/runs/${id}`} className="run-title">
          {title}
        </Link>
        {reason !== null && (
          <span className="run-reason" title={reason}>
            {failed_task !== null && <Link href={`/tasks/${failed_task.id}`}>{failed_task.name}</Link>} {reason}
          </span>
        )}
      </>
    ),
  },
  {
    header: 'Tasks',
    cell: (run) => (
      <span className="run-tasks">
        <OutcomeBar tally={tallyOf(run)} />
        <span className="tabular">
          {(run.counts.total - run.counts.remaining).toLocaleString()} / {run.counts.total.toLocaleString()}
        </span>
      </span>
    ),
  },
  {
    header: 'Job',
    optional: true,
    cell: ({ job }) => (job === null ? '' : <Link href={jobAddress(job.name)}>{job.name}</Link>),
  },
  { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: 'Took', number: true, cell: ({ created_at, ended_at }) => <Took from={created_at} to={ended_at} /> },
];
