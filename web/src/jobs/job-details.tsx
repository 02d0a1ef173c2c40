import { useCallback, useState } from 'react';
import { jobHistory, nextRuns } from '../api/jobs.ts';
import type { Job, JobRun, Occurrence } from '@heddle/client';
import { Trouble } from '../live/trouble.tsx';
import { usePolled } from '../live/use-polled.ts';
import { Pager } from '../pager.tsx';
import { formatAgo, formatDuration, formatMoment, parseTime } from '../times.ts';
import { workflowAddress } from '../workflows/address.ts';
import { NODE_STATES, STATE_CLASS, STATE_LABEL } from '../workflows/node-state.ts';
import { RunChip } from './run-state.tsx';
import { ZonedTime } from './zoned-time.tsx';

const NEXT_COUNT = 5;
const NEXT_REFRESH_MS = 15_000;
const HISTORY_PAGE = 10;

const OVERLAP_WORDS: Record<Job['overlap'], string> = {
  skip: 'an occurrence is dropped while the previous run is unfinished',
  queue: 'an occurrence waits while the previous run is unfinished',
  allow: 'an occurrence starts even while other runs are unfinished',
};

const CATCH_UP_WORDS: Record<Job['catch_up'], string> = {
  skip: 'occurrences missed while no server was running are skipped',
  once: 'one run replaces all occurrences missed while no server was running',
  all: 'each occurrence missed while no server was running runs',
};

/** The next runs of a job, its settings, and its history. `stamp` changes after each operation on it. */
export function JobDetails({ job, now, stamp }: { job: Job; now: number; stamp: number }) {
  return (
    <div className="job-details" data-testid="job-details">
      <div className="job-next">
        <NextRuns key={`${stamp} ${job.next_run_at}`} job={job} now={now} />
        <h3>Settings</h3>
        <ul className="job-settings">
          <li>
            {job.recurrence === null
              ? 'Unlimited runs'
              : job.recurrence === 0
                ? 'No scheduled runs left'
                : `${job.recurrence.toLocaleString()} more ${job.recurrence === 1 ? 'run' : 'runs'}`}
          </li>
          <li>
            <b>{job.overlap}</b>: {OVERLAP_WORDS[job.overlap]}
          </li>
          <li>
            <b>{job.catch_up}</b>: {CATCH_UP_WORDS[job.catch_up]}
          </li>
        </ul>
      </div>
      <History key={stamp} job={job} now={now} />
    </div>
  );
}

function NextRuns({ job, now }: { job: Job; now: number }) {
  const read = useCallback((signal: AbortSignal) => nextRuns(job.id, NEXT_COUNT, signal), [job.id]);
  const { value, error, heardAtMs } = usePolled(read, NEXT_REFRESH_MS);
  return (
    <>
      <h3>Next runs</h3>
      {error !== null && <Trouble error={error} heardAtMs={heardAtMs} />}
      {value === null && error === null && <p className="quiet">Loading…</p>}
      {value?.length === 0 && (
        <p className="quiet">
          {job.paused ? 'None while it is paused.' : 'None: the schedule has no further occurrence.'}
        </p>
      )}
      <ol className="next-runs">
        {(value ?? []).map((occurrence) => (
          <NextRun key={occurrence.at} occurrence={occurrence} zone={job.time_zone} now={now} />
        ))}
      </ol>
    </>
  );
}

function NextRun({ occurrence, zone, now }: { occurrence: Occurrence; zone: string; now: number }) {
  const at = parseTime(occurrence.at);
  return (
    <li title={occurrence.local}>{at === null ? occurrence.local : <ZonedTime atMs={at} zone={zone} now={now} />}</li>
  );
}

function History({ job, now }: { job: Job; now: number }) {
  const [page, setPage] = useState(0);
  const read = useCallback(
    (signal: AbortSignal) => jobHistory(job.id, { page, pageSize: HISTORY_PAGE }, signal),
    [job.id, page],
  );
  const { value: runs, error, heardAtMs } = usePolled(read);
  return (
    <section className="job-history">
      <h3>History</h3>
      {error !== null && <Trouble error={error} heardAtMs={heardAtMs} />}
      {runs === null && error === null && <p className="quiet">Loading…</p>}
      {runs?.length === 0 && <p className="quiet">{page > 0 ? 'No older runs.' : 'No runs yet.'}</p>}
      {runs !== null && runs.length > 0 && (
        <table className="batch-table history-table">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Scheduled for</th>
              <th scope="col">Tasks</th>
              <th scope="col" className="number">
                Took
              </th>
              <th scope="col">Workflow</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <RunRow key={run.id} run={run} now={now} />
            ))}
          </tbody>
        </table>
      )}
      <Pager page={page} rows={runs} pageSize={HISTORY_PAGE} onPage={setPage} />
    </section>
  );
}

function RunRow({ run, now }: { run: JobRun; now: number }) {
  const scheduled = parseTime(run.scheduled_for);
  const started = parseTime(run.started_at);
  const completed = parseTime(run.completed_at);
  return (
    <tr>
      <td>
        <RunChip run={run} />
        {run.reason !== null && <span className="quiet run-reason">{run.reason}</span>}
      </td>
      <td title={scheduled === null ? '' : formatMoment(scheduled)}>
        {scheduled === null ? '–' : formatAgo(scheduled, now)}
        {run.trigger === 'manual' && <span className="quiet"> · manual</span>}
      </td>
      <td>
        <TaskCounts counts={run.task_counts} />
      </td>
      <td className="number tabular">{started === null ? '–' : formatDuration((completed ?? now) - started)}</td>
      <td>
        {run.workflow_id === null ? (
          <span className="quiet">none</span>
        ) : (
          <a href={workflowAddress(run.workflow_id)} aria-label={`The workflow ${run.workflow_id}`}>
            {run.workflow_id.slice(0, 13)}…
          </a>
        )}
      </td>
    </tr>
  );
}

function TaskCounts({ counts }: { counts: JobRun['task_counts'] }) {
  if (counts === null) return <span className="quiet">–</span>;
  const parts = NODE_STATES.filter((state) => (counts[state] ?? 0) > 0);
  return (
    <span className="task-counts tabular">
      {parts.map((state) => (
        <span key={state} title={STATE_LABEL[state]}>
          <i className={`bar-${STATE_CLASS[state]}`} /> {counts[state]!.toLocaleString()}
          <span className="visually-hidden"> {STATE_LABEL[state]}</span>
        </span>
      ))}
    </span>
  );
}
