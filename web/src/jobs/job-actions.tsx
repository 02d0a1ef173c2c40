import type { JobDetail } from '@heddle/client';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { deleteJob, operateJob, triggerJob } from '../api/jobs.ts';
import { jobAddress } from '../data/addresses.ts';
import { queryClient, refreshAll } from '../data/query-client.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { notify, notifyError } from '../ui/toast.tsx';
import { BackfillDialog } from './backfill-dialog.tsx';

const OVERLAP_WORDS: Readonly<Record<JobDetail['overlap'], string>> = {
  skip: 'It is rejected while an earlier run is unfinished.',
  queue: 'It waits while an earlier run is unfinished.',
  allow: 'It starts even while earlier runs are unfinished.',
};

/** Run now, backfill, pause, resume, edit and delete. */
export function JobActions({ job }: { job: JobDetail }) {
  const [backfills, setBackfills] = useState(false);
  return (
    <>
      <ConfirmButton
        label="Run now"
        verb="Run"
        look="primary"
        title={`Run ${job.name} now?`}
        onConfirm={() => runNow(job)}
      >
        One run in addition to its schedule, which is unchanged. {OVERLAP_WORDS[job.overlap]}
      </ConfirmButton>
      <Button onClick={() => setBackfills(true)}>Backfill</Button>
      <BackfillDialog job={job} open={backfills} onOpenChange={setBackfills} />
      <Button onClick={() => togglePause(job)}>{job.paused ? 'Resume' : 'Pause'}</Button>
      <LinkButton href={`${jobAddress(job.name)}?form=edit`}>Edit</LinkButton>
      <DeleteButton job={job} />
    </>
  );
}

async function runNow({ id, name }: JobDetail): Promise<void> {
  const { state } = await triggerJob(id);
  notify(state === 'Queued' ? 'Waiting for the previous run' : 'Started', name);
  await refreshAll();
}

function togglePause({ id, name, paused }: JobDetail): void {
  operateJob(id, paused ? 'resume' : 'pause').then(
    () => {
      notify(paused ? 'Resumed' : 'Paused', name);
      void refreshAll();
    },
    (error: unknown) => notifyError(paused ? 'Not resumed' : 'Not paused', error),
  );
}

function DeleteButton({ job: { id, name } }: { job: JobDetail }) {
  const [, navigate] = useLocation();
  const remove = async (): Promise<void> => {
    await deleteJob(id);
    notify('Job deleted', name);
    navigate('/schedules');
    queryClient.removeQueries({ queryKey: ['job', name] });
    await refreshAll();
  };
  return (
    <ConfirmButton label="Delete" verb="Delete" look="danger" title={`Delete ${name}?`} onConfirm={remove}>
      Its schedule and its history are deleted. The runs that it started are kept, and unfinished ones continue.
    </ConfirmButton>
  );
}
