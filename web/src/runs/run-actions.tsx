import type { Run } from '@heddle/client';
import { useState } from 'react';
import { changeRuns } from '../api/operations.ts';
import type { Operation } from '../api/operations.ts';
import { operateWorkflow } from '../api/workflows.ts';
import { numbered } from '../data/bulk.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { notify } from '../ui/toast.tsx';
import { DefinitionDialog } from './definition-dialog.tsx';
import { RerunDialog } from './rerun-dialog.tsx';

const DONE: Readonly<Record<Operation, string>> = {
  cancel: 'Canceled',
  pause: 'Paused',
  resume: 'Resumed',
  retry: 'Retried',
};

/** Changes a run as a whole. @throws Error with the server's reason if nothing changed */
async function change({ id, type, title }: Run, operation: Operation): Promise<void> {
  if (type === 'workflow') await operateWorkflow(id, operation);
  else {
    const [refused] = (await changeRuns(operation, [id])).unchanged;
    if (refused !== undefined) throw new Error(refused.reason);
  }
  notify(DONE[operation], title);
  await refreshAll();
}

/** Beside the operations on one task of it, that of a batch says so. */
function labelOf(verb: string, { type }: Run): string {
  return type === 'batch' ? `${verb} batch` : verb;
}

/** What can be done with a whole run: stop it, hold it, retry it, run it again, and its definition. */
export function RunActions({ run }: { run: Run }) {
  const can = useCan();
  const [opened, setOpened] = useState<'rerun' | 'definition' | null>(null);
  const close = (): void => setOpened(null);
  return (
    <>
      {can('operate') && (run.ended_at === null ? <OpenRunActions run={run} /> : <EndedRunActions run={run} />)}
      {can('operate') && <Button onClick={() => setOpened('rerun')}>Run again…</Button>}
      <Button onClick={() => setOpened('definition')}>Definition</Button>
      {opened === 'rerun' && <RerunDialog run={run} onClose={close} />}
      {opened === 'definition' && <DefinitionDialog run={run} onClose={close} />}
    </>
  );
}

function OpenRunActions({ run }: { run: Run }) {
  const { type, title, counts, state } = run;
  const isPaused = state === 'Paused';
  return (
    <>
      {isPaused ? (
        <ConfirmButton
          label={labelOf('Resume', run)}
          verb={`Resume ${type}`}
          look="primary"
          title={`Resume ${title}?`}
          onConfirm={() => change(run, 'resume')}
        >
          Its tasks continue where they were, and start as soon as they are ready.
        </ConfirmButton>
      ) : (
        <ConfirmButton
          label={labelOf('Pause', run)}
          verb={`Pause ${type}`}
          title={`Pause ${title}?`}
          onConfirm={() => change(run, 'pause')}
        >
          Nothing of it starts until it is resumed. What runs is not stopped.
        </ConfirmButton>
      )}
      <ConfirmButton
        label={labelOf('Cancel', run)}
        verb={`Cancel ${type}`}
        look="danger"
        title={`Cancel ${title}?`}
        onConfirm={() => change(run, 'cancel')}
      >
        Its {numbered(counts.remaining, 'unfinished task')} {counts.remaining === 1 ? 'ends' : 'end'} as canceled. What
        was canceled can be retried.
      </ConfirmButton>
    </>
  );
}

function EndedRunActions({ run }: { run: Run }) {
  const { counts, title, type } = run;
  if (counts.failed + counts.canceled === 0) return null;
  return (
    <ConfirmButton
      label={labelOf('Retry', run)}
      verb={`Retry ${type}`}
      title={`Retry what failed in ${title}?`}
      onConfirm={() => change(run, 'retry')}
    >
      What failed, timed out or was canceled runs again
      {type === 'workflow' ? ', and what comes after it in its sequences' : ', and what failed because of it'}.
      Everything else keeps its result.
    </ConfirmButton>
  );
}
