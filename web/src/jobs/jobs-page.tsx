import { Fragment, useCallback, useEffect, useState } from 'react';
import { jobHistory, listJobs } from '../api/jobs.ts';
import type { Job, JobRun } from '@heddle/client';
import { ListPage, PAGE_SIZE } from '../list/list-page.tsx';
import { pageIn, usePlace, writeAddress } from '../list/place.ts';
import { usePolled } from '../live/use-polled.ts';
import { parseTime } from '../times.ts';
import { cronInWords } from './cron-words.ts';
import { JobActions } from './job-actions.tsx';
import { JobDetails } from './job-details.tsx';
import { RunChip, RunMarks } from './run-state.tsx';
import { ZonedTime } from './zoned-time.tsx';

const RECENT_RUNS = 8;

interface Query {
  page: number;
  /** The job whose history is open, by name. */
  job: string | null;
}

function readQuery(search: URLSearchParams): Query {
  return { page: pageIn(search), job: search.get('job') };
}

function writeQuery({ page, job }: Query): void {
  writeAddress('/jobs', { page, job });
}

/** The jobs with their next and latest runs; a row opens the history. */
export function JobsPage() {
  const [query, go] = usePlace(readQuery, writeQuery);
  const { page } = query;
  const read = useCallback((signal: AbortSignal) => listJobs({ page, pageSize: PAGE_SIZE }, signal), [page]);
  const polled = usePolled(read);
  return (
    <ListPage
      title="Jobs"
      beside={<p className="quiet">Workflows on a schedule</p>}
      rows={polled.value}
      polled={polled}
      page={page}
      onPage={(next) => go({ page: next, job: null })}
      empty={page > 0 ? <p className="notice">No more jobs.</p> : <NoJobs />}
    >
      {(jobs, now) => (
        <table className="batch-table job-table">
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col">Schedule</th>
              <th scope="col">Next run</th>
              <th scope="col">Last runs</th>
              <th scope="col">
                <span className="visually-hidden">Operations</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {jobs.map((job) => (
              <JobRows
                key={job.id}
                job={job}
                now={now}
                open={query.job === job.name}
                onOpen={(open) => go({ page, job: open ? job.name : null })}
                onChanged={polled.reread}
              />
            ))}
          </tbody>
        </table>
      )}
    </ListPage>
  );
}

interface JobRowsProps {
  job: Job;
  now: number;
  open: boolean;
  onOpen: (open: boolean) => void;
  onChanged: () => void;
}

function JobRows({ job, now, open, onOpen, onChanged }: JobRowsProps) {
  const [stamp, setStamp] = useState(0);
  const detailsId = `details-${job.id}`;
  return (
    <Fragment>
      <tr data-open={open}>
        <td className="job-name">
          <button
            type="button"
            className="link"
            aria-expanded={open}
            aria-controls={open ? detailsId : undefined}
            onClick={() => onOpen(!open)}
          >
            <span aria-hidden="true">{open ? '▾' : '▸'}</span> {job.name}
          </button>
          {job.paused && (
            <span className="paused-mark" title={job.paused_reason ?? 'The schedule starts nothing'}>
              paused
            </span>
          )}
          {job.paused_reason !== null && <span className="failed-count run-reason">{job.paused_reason}</span>}
        </td>
        <td className="job-schedule">
          <Schedule job={job} />
        </td>
        <td>
          <NextRun job={job} now={now} />
        </td>
        <td>
          <RecentRuns job={job} />
        </td>
        <td className="job-operations">
          <JobActions
            job={job}
            onDone={() => {
              setStamp((last) => last + 1);
              onChanged();
            }}
          />
        </td>
      </tr>
      {open && (
        <tr className="job-more">
          <td colSpan={5} id={detailsId}>
            <JobDetails job={job} now={now} stamp={stamp} />
          </td>
        </tr>
      )}
    </Fragment>
  );
}

function Schedule({ job }: { job: Job }) {
  const words = cronInWords(job.cron);
  return (
    <>
      {words !== null && <span className="schedule-words">{words}</span>}
      <span className={words === null ? '' : 'quiet'}>
        <code>{job.cron}</code> · {job.time_zone}
      </span>
    </>
  );
}

function NextRun({ job, now }: { job: Job; now: number }) {
  const at = parseTime(job.next_run_at);
  if (at !== null) return <ZonedTime atMs={at} zone={job.time_zone} now={now} />;
  return (
    <span className="quiet">{job.paused ? 'after it is resumed' : job.recurrence === 0 ? 'used up' : 'none'}</span>
  );
}

/** The list has the last run of each job; earlier ones are read when it changes. */
function RecentRuns({ job }: { job: Job }) {
  const last = job.last_run;
  const [runs, setRuns] = useState<JobRun[]>([]);
  const stamp = `${last?.id} ${last?.state}`;
  useEffect(() => {
    if (last === null) return undefined;
    const stopped = new AbortController();
    jobHistory(job.id, { page: 0, pageSize: RECENT_RUNS }, stopped.signal)
      .then(setRuns)
      // The chip is shown anyway; the list reports that the server is unavailable.
      .catch(() => undefined);
    return () => stopped.abort();
  }, [job.id, stamp]);
  if (last === null) return <span className="quiet">never ran</span>;
  return (
    <span className="recent-runs">
      <RunChip run={last} />
      {runs.length > 0 && <RunMarks runs={runs} />}
    </span>
  );
}

function NoJobs() {
  return (
    <div className="notice">
      <p>No jobs yet.</p>
      <p className="quiet">
        A job starts a workflow on a schedule: send one to <code>POST /v1/jobs</code>, or run{' '}
        <code>heddle job create FILE</code>. Its runs then appear here and among the <a href="/workflows">workflows</a>.
      </p>
    </div>
  );
}
