import { useRef, useState } from 'react';
import { operateTask } from '../api/client.ts';
import type { TaskOperation } from '../api/client.ts';
import { Problem } from '../problem.tsx';
import { isTerminal } from '../status.ts';
import type { Status } from '../status.ts';

interface TaskActionsProps {
  id: string;
  name: string;
  status: Status;
  /** Consequences of canceling, for the confirmation. */
  consequence: string;
  onDone: () => void;
}

/** The operations available in a state, in display order. */
function operationsFor(status: Status): TaskOperation[] {
  if (status === 'Success') return [];
  if (isTerminal(status)) return ['retry'];
  return status === 'Paused' ? ['resume', 'cancel'] : ['pause', 'cancel'];
}

const LABEL: Record<TaskOperation, string> = { cancel: 'Cancel', pause: 'Pause', resume: 'Resume', retry: 'Retry' };

/** Buttons for operators; canceling asks for confirmation, a rejection shows the server's message. */
export function TaskActions({ id, name, status, consequence, onDone }: TaskActionsProps) {
  const [busy, setBusy] = useState<TaskOperation | null>(null);
  const [error, setError] = useState<unknown>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const operations = operationsFor(status);
  const run = async (operation: TaskOperation): Promise<void> => {
    setBusy(operation);
    setError(null);
    try {
      await operateTask(id, operation);
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(null);
    }
  };
  return (
    <>
      {operations.length > 0 && (
        <div className="actions" role="group" aria-label="Operations">
          {operations.map((operation) => (
            <button
              key={operation}
              type="button"
              className={operation === 'cancel' ? 'danger' : ''}
              disabled={busy !== null}
              onClick={() => (operation === 'cancel' ? dialog.current?.showModal() : void run(operation))}
            >
              {busy === operation ? `${LABEL[operation]}…` : LABEL[operation]}
            </button>
          ))}
        </div>
      )}
      {error !== null && <Problem error={error} />}
      <dialog
        ref={dialog}
        aria-labelledby="cancel-title"
        onClose={(event) => {
          if (event.currentTarget.returnValue === 'cancel') void run('cancel');
          event.currentTarget.returnValue = '';
        }}
      >
        <form method="dialog">
          <h2 id="cancel-title">Cancel this task?</h2>
          <p className="breakable">{name}</p>
          <p className="quiet">{consequence}</p>
          <div className="actions">
            <button type="submit" value="keep" autoFocus>
              Keep task
            </button>
            <button type="submit" value="cancel" className="danger">
              Cancel task
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
