import { useState } from 'react';
import { operateJob, triggerJob } from '../api/jobs.ts';
import type { Job, JobRun } from '../api/jobs.ts';
import { ConfirmButton } from '../confirm-button.tsx';
import { Problem } from '../problem.tsx';
import { workflowAddress } from '../workflows/address.ts';

const OVERLAP_WORDS: Record<Job['overlap'], string> = {
  skip: 'While an earlier run has not ended it is refused.',
  queue: 'While an earlier run has not ended it waits for that.',
  allow: 'It starts beside earlier runs that have not ended.',
};

/** Pause, resume and run now; a refusal is shown in the server's words. */
export function JobActions({ job, onDone }: { job: Job; onDone: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [started, setStarted] = useState<JobRun | null>(null);
  const run = async (operation: () => Promise<JobRun | null>): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      setStarted(await operation());
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const operate = (operation: 'pause' | 'resume'): void =>
    void run(async () => {
      await operateJob(job.id, operation);
      return null;
    });
  return (
    <>
      <div className="actions job-actions" role="group" aria-label={`Operations on ${job.name}`}>
        {job.paused ? (
          <button type="button" disabled={busy} onClick={() => operate('resume')}>
            Resume
          </button>
        ) : (
          <button type="button" disabled={busy} onClick={() => operate('pause')}>
            Pause
          </button>
        )}
        <ConfirmButton
          label="Run now"
          title="Run this job now?"
          verb="Run it"
          refusal="Leave it"
          disabled={busy}
          onConfirm={() => void run(() => triggerJob(job.id))}
        >
          <p className="breakable">{job.name}</p>
          <p className="quiet">One run beside its schedule, which stays as it is. {OVERLAP_WORDS[job.overlap]}</p>
        </ConfirmButton>
      </div>
      {error !== null && <Problem error={error} />}
      {started !== null && (
        <p className="job-started" role="status">
          {started.state === 'Queued' ? 'It waits for the run before it.' : 'It is on its way'}
          {started.workflow_id !== null && (
            <>
              : <a href={workflowAddress(started.workflow_id)}>look at the workflow</a>
            </>
          )}
          .
        </p>
      )}
    </>
  );
}
