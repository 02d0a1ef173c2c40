import type { Task } from '@heddle/client';
import { useState } from 'react';
import { operateTask } from '../api/client.ts';
import type { TaskOperation } from '../api/client.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { Menu } from '../ui/menu.tsx';
import { STATE, stateOf } from '../ui/state.ts';
import { notify, notifyError } from '../ui/toast.tsx';
import { RetryDialog } from './retry-dialog.tsx';
import type { RetryWay } from './retry-dialog.tsx';

const DONE: Record<TaskOperation, string> = {
  cancel: 'Canceled',
  pause: 'Paused',
  resume: 'Resumed',
  retry: 'Queued for another attempt',
};

/** What an operator can do with a task in its state. */
export function TaskActions({ task }: { task: Task }) {
  const can = useCan();
  const [busy, setBusy] = useState(false);
  const state = stateOf(task.status);
  const run = async (operation: TaskOperation): Promise<void> => {
    await operateTask(task.id, operation);
    notify(DONE[operation], task.name);
    await refreshAll();
  };
  const start = (operation: TaskOperation): void => {
    setBusy(true);
    run(operation)
      .catch((error: unknown) => notifyError('Nothing was changed', error))
      .finally(() => setBusy(false));
  };
  if (!can('operate')) return null;
  if (STATE[state].ended) return <RetryActions task={task} busy={busy} onRetry={() => start('retry')} />;
  return (
    <>
      <Button disabled={busy} onClick={() => start(state === 'paused' ? 'resume' : 'pause')}>
        {state === 'paused' ? 'Resume' : 'Pause'}
      </Button>
      <ConfirmButton
        label="Cancel task"
        verb="Cancel task"
        title={`Cancel ${task.name}?`}
        look="danger"
        onConfirm={() => run('cancel')}
      >
        What requires its success fails. You can retry it later.
      </ConfirmButton>
    </>
  );
}

/** The ways to run an ended task again. */
function RetryActions({ task, busy, onRetry }: { task: Task; busy: boolean; onRetry: () => void }) {
  const can = useCan();
  const [way, setWay] = useState<RetryWay | null>(null);
  const mayChangeInput = task.kind !== 'Command' || can('command');
  const isSucceeded = stateOf(task.status) === 'succeeded';
  return (
    <>
      {!isSucceeded && (
        <Button disabled={busy} onClick={onRetry}>
          Retry
        </Button>
      )}
      {isSucceeded ? (
        <Button onClick={() => setWay('after')}>Retry from here…</Button>
      ) : (
        <Menu
          label="Retry with…"
          items={[
            ...(mayChangeInput ? [{ label: 'Changed input…', onSelect: () => setWay('input') }] : []),
            { label: 'Everything after it…', onSelect: () => setWay('after') },
          ]}
        />
      )}
      {way !== null && (
        <RetryDialog key={way} task={task} way={way} mayChangeInput={mayChangeInput} onClose={() => setWay(null)} />
      )}
    </>
  );
}
