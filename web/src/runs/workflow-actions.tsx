import type { Run } from '@heddle/client';
import { operateWorkflow } from '../api/workflows.ts';
import type { WorkflowOperation } from '../api/workflows.ts';
import { refreshAll } from '../data/query-client.ts';
import { ConfirmButton } from '../ui/dialog.tsx';
import { stateOf } from '../ui/state.ts';
import { notify } from '../ui/toast.tsx';

const DONE: Readonly<Record<WorkflowOperation, string>> = {
  pause: 'Paused',
  resume: 'Resumed',
  cancel: 'Canceled',
  retry: 'Retried',
};

/** Operations on a whole workflow; each asks for confirmation, a rejection shows the server's message. */
export function WorkflowActions({ run }: { run: Run }) {
  const { id, title, counts } = run;
  const operate = (operation: WorkflowOperation) => async (): Promise<void> => {
    await operateWorkflow(id, operation);
    notify(DONE[operation], title);
    await refreshAll();
  };
  if (run.ended_at !== null) {
    if (counts.failed + counts.canceled + counts.skipped === 0) return null;
    return (
      <ConfirmButton
        label="Retry"
        verb="Retry workflow"
        title={`Retry what failed in ${title}?`}
        onConfirm={operate('retry')}
      >
        What failed, timed out or was canceled runs again, and what comes after it in its sequences. Everything else
        keeps its result.
      </ConfirmButton>
    );
  }
  const open = `${counts.remaining.toLocaleString()} ${counts.remaining === 1 ? 'task' : 'tasks'}`;
  return (
    <>
      {stateOf(run.state) === 'paused' ? (
        <ConfirmButton label="Resume" verb="Resume workflow" title={`Resume ${title}?`} onConfirm={operate('resume')}>
          {open} can then start as soon as they are ready.
        </ConfirmButton>
      ) : (
        <ConfirmButton label="Pause" verb="Pause workflow" title={`Pause ${title}?`} onConfirm={operate('pause')}>
          Running tasks continue; nothing else starts until it is resumed.
        </ConfirmButton>
      )}
      <ConfirmButton
        label="Cancel"
        verb="Cancel workflow"
        look="danger"
        title={`Cancel ${title}?`}
        onConfirm={operate('cancel')}
      >
        {open} unfinished will be canceled. You can retry it later.
      </ConfirmButton>
    </>
  );
}
