import type { Run } from '@heddle/client';
import { sendJson } from '../api/tasks.ts';
import { refreshAll } from '../data/query-client.ts';
import { ConfirmButton } from '../ui/dialog.tsx';
import { notify } from '../ui/toast.tsx';

interface RunSelectionBarProps {
  runs: readonly Run[];
  onDone: () => void;
}

/** What can be done with the selected runs at once. */
export function RunSelectionBar({ runs, onDone }: RunSelectionBarProps) {
  const open = runs.filter(({ ended_at }) => ended_at === null);
  const failed = runs.filter(
    ({ type, ended_at, counts }) => type === 'workflow' && ended_at !== null && counts.failed + counts.canceled > 0,
  );
  const cancel = async (): Promise<void> => {
    for (const { id, type } of open) {
      await sendJson('DELETE', type === 'workflow' ? `/v1/workflows/${id}` : `/v1/batches/${id}`);
    }
    await finish(`${open.length} ${open.length === 1 ? 'run' : 'runs'} canceled`);
  };
  const retry = async (): Promise<void> => {
    for (const { id } of failed) await sendJson('POST', `/v1/workflows/${id}/retry`);
    await finish(`${failed.length} ${failed.length === 1 ? 'run' : 'runs'} retried`);
  };
  const finish = async (done: string): Promise<void> => {
    notify(done);
    onDone();
    await refreshAll();
  };
  return (
    <div className="selection-bar" role="region" aria-label="Selected runs">
      <strong>{runs.length.toLocaleString()} selected</strong>
      <ConfirmButton
        label="Retry failed"
        verb="Retry"
        title={`Retry what failed in ${failed.length} workflows?`}
        disabled={failed.length === 0}
        onConfirm={retry}
      >
        What failed, timed out or was canceled runs again, and what comes after it.
      </ConfirmButton>
      <ConfirmButton
        label="Cancel"
        verb="Cancel runs"
        look="danger"
        title={`Cancel ${open.length} open runs?`}
        disabled={open.length === 0}
        onConfirm={cancel}
      >
        Their unfinished tasks end as canceled.
      </ConfirmButton>
    </div>
  );
}
