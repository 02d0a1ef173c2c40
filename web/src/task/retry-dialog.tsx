import type { Explanation, Task } from '@heddle/client';
import { useState } from 'react';
import { retryTask } from '../api/operations.ts';
import { tasks } from '../api/tasks.ts';
import { numbered } from '../data/bulk.ts';
import { useInputSchema } from '../data/kinds.ts';
import { useLive } from '../data/live.ts';
import { formatJson, parseInput } from '../data/parse-input.ts';
import { refreshAll } from '../data/query-client.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { CheckField } from '../ui/form.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { notify } from '../ui/toast.tsx';
import { Loading } from '../ui/loading.tsx';

export type RetryWay = 'input' | 'after';

interface RetryDialogProps {
  task: Task;
  /** What is chosen at first. */
  way: RetryWay;
  mayChangeInput: boolean;
  onClose: () => void;
}

/** Retries a task with another input, or with everything after it, or both. */
export function RetryDialog({ task, way, mayChangeInput, onClose }: RetryDialogProps) {
  const [text, setText] = useState(() => formatJson(task.metadata));
  const [changesInput, setChangesInput] = useState(way === 'input');
  const [isAfter, setAfter] = useState(way === 'after');
  const schema = useInputSchema(task.kind);
  // Only with everything after it, which worked on its result.
  const mustBeAfter = task.status === 'Success';
  const retry = async (): Promise<void> => {
    await retryTask(task.id, {
      ...(changesInput ? { input: parseInput(text) } : {}),
      ...(isAfter ? { after: true } : {}),
    });
    notify(isAfter ? 'Queued, with everything after it' : 'Queued for another attempt', task.name);
    await refreshAll();
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={isAfter ? `Retry from ${task.name}?` : `Retry ${task.name}?`}
      verb="Retry"
      size="wide"
      onConfirm={retry}
    >
      {(error) => (
        <>
          <CheckField
            label="Run again everything after it, too"
            checked={isAfter}
            disabled={mustBeAfter}
            onChange={setAfter}
          />
          {isAfter && <After id={task.id} />}
          {mayChangeInput && <CheckField label="Change its input" checked={changesInput} onChange={setChangesInput} />}
          {changesInput && (
            <JsonEditor label="Input" text={text} onChange={setText} schema={schema} error={error} root="input" />
          )}
        </>
      )}
    </FormDialog>
  );
}

/** What a retry from here runs again. */
function After({ id }: { id: string }) {
  const { data } = useLive(['explain', id, 'after'], (signal) => tasks.explain(id, signal), { every: false });
  if (data === undefined) return <Loading />;
  const { total, total_capped, tasks: first } = data.dependents;
  if (total === 0) return <p className="quiet">Nothing comes after it: only this task runs again.</p>;
  return (
    <div className="retry-after">
      <p>
        This task runs again, and {total_capped && 'more than '}
        {numbered(total, 'task')} after it, also what succeeded. Their counters begin again, and their results are
        deleted.
      </p>
      <TaskNames tasks={first} total={total} capped={total_capped} />
    </div>
  );
}

type Named = Explanation['dependents']['tasks'];

function TaskNames({ tasks: first, total, capped }: { tasks: Named; total: number; capped: boolean }) {
  const more = total - first.length;
  return (
    <p className="quiet">
      {first.map(({ name }) => name).join(', ')}
      {more > 0 && ` and ${more.toLocaleString()}${capped ? '+' : ''} more`}
    </p>
  );
}
