import type { JobDetail, JobRun } from '@heddle/client';
import { Link } from 'wouter';
import { jobs } from '../api/jobs.ts';
import { jobAddress } from '../data/addresses.ts';
import { useLive } from '../data/live.ts';
import { Note } from '../ui/note.tsx';
import { Ago } from '../ui/time.tsx';
import { isBad, lookOf } from './run-state.tsx';

/** Why the job is stopped, or why its last run failed or did not start; and what to do about it. */
export function JobTrouble({ job }: { job: JobDetail }) {
  const { data: last = null } = useLive(['job', job.id, 'last'], (signal) => jobs.lastRun(job.id, signal));
  return (
    <>
      {job.paused_reason !== null && (
        <Note title="Heddle paused this job">
          <p>{job.paused_reason}</p>
          <p className="quiet">
            <Link href={`${jobAddress(job.name)}?form=edit`}>Edit it</Link>, then resume it.
          </p>
        </Note>
      )}
      {last?.state === 'Skipped' && <SkippedNote job={job} run={last} />}
      {last !== null && last.state !== 'Skipped' && isBad(last.state) && <FailedNote run={last} />}
    </>
  );
}

/** What lets such an occurrence run the next time. */
const SKIP_REMEDY: Readonly<Record<JobDetail['overlap'], string>> = {
  skip: 'To run occurrences while a run is open, edit the job: let them wait, or start another one.',
  queue: 'One occurrence waits at most; to start another one meanwhile, edit the job.',
  allow: 'To run occurrences that pass while no server runs, edit what happens to missed occurrences.',
};

function SkippedNote({ job, run }: { job: JobDetail; run: JobRun }) {
  return (
    <Note
      title={
        <>
          The last occurrence, <Ago at={run.scheduled_for} />, did not run
        </>
      }
    >
      <p>{run.reason}</p>
      <p className="quiet">{SKIP_REMEDY[job.overlap]} Run now or a backfill makes up for it.</p>
    </Note>
  );
}

function FailedNote({ run }: { run: JobRun }) {
  const { state, reason, task_counts, workflow_id, completed_at } = run;
  const failed = (task_counts?.['Failed'] ?? 0) + (task_counts?.['Timeout'] ?? 0);
  return (
    <Note
      title={
        <>
          The last run {lookOf(state).label.toLowerCase()} <Ago at={completed_at} />
        </>
      }
    >
      {reason !== null && <p>{reason}</p>}
      {failed > 0 && (
        <p>
          {failed.toLocaleString()} {failed === 1 ? 'task' : 'tasks'} failed.
        </p>
      )}
      {workflow_id !== null && (
        <p className="quiet">
          <Link href={`/runs/${workflow_id}?view=tasks`}>See its tasks</Link> for the cause, and retry them there.
        </p>
      )}
    </Note>
  );
}
