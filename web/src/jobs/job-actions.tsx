import { useState } from 'react';
import { operateJob, triggerJob } from '../api/jobs.ts';
import type { Job, JobRun } from '@heddle/client';
import { ConfirmButton } from '../confirm-button.tsx';
import { Problem } from '../problem.tsx';
import { workflowAddress } from '../workflows/address.ts';

const OVERLAP_WORDS: Record<Job['overlap'], string> = {
  skip: 'It is rejected while an earlier run is unfinished.',
  queue: 'It waits while an earlier run is unfinished.',
  allow: 'It starts even while earlier runs are unfinished.',
};

/** Pause, resume and run now; a rejection shows the server's message. */
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
          verb="Run job"
          refusal="Cancel"
          disabled={busy}
          onConfirm={() => void run(() => triggerJob(job.id))}
        >
          <p className="breakable">{job.name}</p>
          <p className="quiet">One run in addition to its schedule, which is unchanged. {OVERLAP_WORDS[job.overlap]}</p>
        </ConfirmButton>
      </div>
      {error !== null && <Problem error={error} />}
      {started !== null && (
        <p className="job-started" role="status">
          {started.state === 'Queued' ? 'Waiting for the previous run' : 'Started'}
          {started.workflow_id !== null && (
            <>
              : <a href={workflowAddress(started.workflow_id)}>view workflow</a>
            </>
          )}
          .
        </p>
      )}
    </>
  );
}
