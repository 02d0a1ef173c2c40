import type { JobDetail, JobRun } from '@heddle/client';
import { Link } from 'wouter';
import { jobs } from '../api/jobs.ts';
import { jobAddress } from '../data/addresses.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { formatDuration, parseTime } from '../times.ts';
import { ChoiceFilter } from '../ui/filter-bar.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Section } from '../ui/page.tsx';
import { OutcomeBar } from '../ui/state.tsx';
import { stateOf } from '../ui/state.ts';
import type { Column } from '../ui/table.tsx';
import { Ago, Took } from '../ui/time.tsx';
import { lookOf, RunBadge, TRIGGER_LABEL } from './run-state.tsx';

const STATES: Readonly<Record<string, string>> = {
  '': 'Any state',
  Failed: 'Failed',
  Timeout: 'Timed out',
  PartiallyFailed: 'Partially failed',
  Skipped: 'Skipped or missed',
  Succeeded: 'Succeeded',
  Running: 'Running',
  Queued: 'Queued',
};

const COLUMNS: readonly Column<JobRun>[] = [
  { header: 'State', cell: ({ state }) => <RunBadge state={state} /> },
  {
    header: 'Scheduled for',
    cell: ({ scheduled_for, workflow_id }) =>
      workflow_id === null ? (
        <Ago at={scheduled_for} />
      ) : (
        <Link href={`/runs/${workflow_id}`}>
          <Ago at={scheduled_for} />
        </Link>
      ),
  },
  { header: 'Started by', optional: true, cell: ({ trigger }) => TRIGGER_LABEL[trigger] },
  {
    header: 'Took',
    number: true,
    cell: ({ started_at, completed_at }) => <Took from={started_at} to={completed_at} />,
  },
  { header: 'Tasks', cell: ({ task_counts }) => <TaskCounts counts={task_counts} /> },
  { header: 'Reason', grow: true, cell: ({ reason }) => reason !== null && <span title={reason}>{reason}</span> },
];

/** How each occurrence of a job ended, latest first. */
export function JobHistory({ job }: { job: JobDetail }) {
  const [{ state }, change] = useFilters(['state']);
  const list = useLiveList<JobRun>(['job', job.id, 'history', state], (page, signal) =>
    jobs.history(job.id, state, page, signal),
  );
  return (
    <Section
      title="History"
      testId="history"
      beside={
        <ChoiceFilter label="State" value={state} options={STATES} onChange={(value) => change({ state: value })} />
      }
    >
      <Durations runs={list.rows ?? []} />
      <ListView
        label="History"
        list={list}
        columns={COLUMNS}
        rowId={({ id }) => id}
        href={({ workflow_id }) => (workflow_id === null ? jobAddress(job.name) : `/runs/${workflow_id}`)}
        empty={<p className="quiet">{state === '' ? 'No runs yet.' : 'No matching runs.'}</p>}
      />
    </Section>
  );
}

function TaskCounts({ counts }: { counts: JobRun['task_counts'] }) {
  if (counts === null) return <span className="quiet">–</span>;
  const tally: Record<string, number> = {};
  for (const [word, n] of Object.entries(counts)) tally[stateOf(word)] = (tally[stateOf(word)] ?? 0) + n;
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
  return (
    <span className="job-tasks">
      <OutcomeBar tally={tally} /> <span className="tabular">{total.toLocaleString()}</span>
    </span>
  );
}

const DURATIONS_SHOWN = 25;
const BAR_MAX_PX = 44;

/** The durations of the latest runs as bars in the colours of their outcomes. */
function Durations({ runs }: { runs: readonly JobRun[] }) {
  const ended = runs.slice(0, DURATIONS_SHOWN).flatMap((run) => {
    const [from, to] = [parseTime(run.started_at), parseTime(run.completed_at)];
    return from === null || to === null ? [] : [{ run, ms: to - from }];
  });
  if (ended.length < 2) return null;
  const longest = Math.max(1, ...ended.map(({ ms }) => ms));
  return (
    <div
      className="durations"
      role="img"
      aria-label={`Durations of the last ${ended.length} runs, at most ${formatDuration(longest)}`}
    >
      {ended.toReversed().map(({ run, ms }) => {
        const { state, label } = lookOf(run.state);
        return (
          <span
            key={run.id}
            className={`fill-${state}`}
            style={{ height: Math.max(3, Math.round((ms / longest) * BAR_MAX_PX)) }}
            title={`${label}, ${formatDuration(ms)}`}
          />
        );
      })}
      <span className="quiet durations-max">{formatDuration(longest)} at most</span>
    </div>
  );
}
