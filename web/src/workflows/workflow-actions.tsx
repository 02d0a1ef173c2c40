import { useState } from 'react';
import { operateWorkflow } from '../api/workflows.ts';
import type { WorkflowOperation } from '../api/workflows.ts';
import { ConfirmButton } from '../confirm-button.tsx';
import { Problem } from '../problem.tsx';

interface WorkflowActionsProps {
  id: string;
  name: string;
  paused: boolean;
  finished: boolean;
  /** Whether something failed or was skipped, so that a retry has an effect. */
  retryable: boolean;
  remaining: number;
  onDone: () => void;
}

/** Operations on a whole workflow; each asks for confirmation, a rejection shows the server's message. */
export function WorkflowActions({ id, name, paused, finished, retryable, remaining, onDone }: WorkflowActionsProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (operation: WorkflowOperation): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await operateWorkflow(id, operation);
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const open = `${remaining.toLocaleString()} ${remaining === 1 ? 'task' : 'tasks'}`;
  return (
    <div className="workflow-actions">
      <div className="actions" role="group" aria-label="Operations on the workflow">
        {!finished && !paused && (
          <ConfirmButton
            label="Pause"
            title="Pause this workflow?"
            verb="Pause workflow"
            refusal="Cancel"
            disabled={busy}
            onConfirm={() => void run('pause')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">Running tasks continue; nothing else starts until it is resumed.</p>
          </ConfirmButton>
        )}
        {!finished && paused && (
          <ConfirmButton
            label="Resume"
            title="Resume this workflow?"
            verb="Resume workflow"
            refusal="Cancel"
            disabled={busy}
            onConfirm={() => void run('resume')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">{open} can then start as soon as they are ready.</p>
          </ConfirmButton>
        )}
        {!finished && (
          <ConfirmButton
            label="Cancel"
            title="Cancel this workflow?"
            verb="Cancel workflow"
            refusal="Keep workflow"
            danger
            disabled={busy}
            onConfirm={() => void run('cancel')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">{open} unfinished will be canceled. You can retry it later.</p>
          </ConfirmButton>
        )}
        {finished && retryable && (
          <ConfirmButton
            label="Retry"
            title="Retry what failed?"
            verb="Retry workflow"
            refusal="Cancel"
            disabled={busy}
            onConfirm={() => void run('retry')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">
              Retries what failed, timed out or was canceled, and what comes after it in its sequences. Everything else
              keeps its result.
            </p>
          </ConfirmButton>
        )}
      </div>
      {error !== null && <Problem error={error} />}
    </div>
  );
}
