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
  /** Whether something failed or was skipped, so that a retry has something to do. */
  retryable: boolean;
  remaining: number;
  onDone: () => void;
}

/** What an operator may do with a whole workflow; each asks first, a refusal is shown in the server's words. */
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
            verb="Pause the workflow"
            refusal="Leave it"
            disabled={busy}
            onConfirm={() => void run('pause')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">What runs goes on; nothing else starts until it is resumed.</p>
          </ConfirmButton>
        )}
        {!finished && paused && (
          <ConfirmButton
            label="Resume"
            title="Resume this workflow?"
            verb="Resume the workflow"
            refusal="Leave it"
            disabled={busy}
            onConfirm={() => void run('resume')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">{open} may then start, each when its turn comes.</p>
          </ConfirmButton>
        )}
        {!finished && (
          <ConfirmButton
            label="Cancel"
            title="Cancel this workflow?"
            verb="Cancel the workflow"
            refusal="Keep it"
            danger
            disabled={busy}
            onConfirm={() => void run('cancel')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">{open} that have not ended are canceled. It can be retried later.</p>
          </ConfirmButton>
        )}
        {finished && retryable && (
          <ConfirmButton
            label="Retry"
            title="Retry what failed?"
            verb="Retry the workflow"
            refusal="Leave it"
            disabled={busy}
            onConfirm={() => void run('retry')}
          >
            <p className="breakable">{name}</p>
            <p className="quiet">
              Runs again what failed, timed out or was canceled, and what comes after it in its sequences. Everything
              else keeps its result.
            </p>
          </ConfirmButton>
        )}
      </div>
      {error !== null && <Problem error={error} />}
    </div>
  );
}
