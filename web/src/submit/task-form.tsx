import { useState } from 'react';
import { submitBatch } from '../api/operations.ts';
import type { Submitted } from '../api/operations.ts';
import { faultOf } from '../data/faults.ts';
import { useKinds } from '../data/kinds.ts';
import { formatJson, parseInput } from '../data/parse-input.ts';
import { Button } from '../ui/button.tsx';
import { FormGrid, TextField } from '../ui/form.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import type { Document } from './document-form.tsx';

const EMPTY = { kind: '', name: '', batch: '', priority: '', delay: '', timeout: '', attempts: '', input: '{}' };
type Form = typeof EMPTY;

/** Members of a task that are folded away until they are wanted. */
const SETTINGS = ['priority', 'delay', 'timeout', 'retry'];

interface TaskFormProps {
  onSubmitted: (submitted: Submitted) => void;
  /** Goes on with the task as a document. */
  onDocument: (document: Document) => void;
}

/** One task, as a batch of its own. */
export function TaskForm({ onSubmitted, onDocument }: TaskFormProps) {
  const [form, setForm] = useState(EMPTY);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const kinds = useKinds();
  const kind = kinds.find(({ name }) => name === form.kind);
  /** @param member of the task that it becomes */
  const field = (name: keyof Form, member: string = name) => ({
    value: form[name],
    onChange: (value: string) => setForm({ ...form, [name]: value }),
    fault: faultOf(error, member, 'tasks[0]'),
  });
  const number = (name: keyof Form, member?: string) => ({ ...field(name, member), type: 'number' as const });
  const hasSettingsFault = SETTINGS.some((member) => faultOf(error, member, 'tasks[0]') !== undefined);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      onSubmitted(await submitBatch([taskOf(form)], form.batch));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="form-part"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <FormGrid>
        <TextField
          label="Kind"
          required
          suggestions={kinds.map(({ name }) => name)}
          hint={kind?.description ?? (form.kind === '' ? 'What the task does.' : hintOfUnknown(kind === undefined))}
          {...field('kind')}
        />
        <TextField
          label="Name"
          placeholder={form.kind}
          hint="Shown in lists; by default its kind."
          {...field('name')}
        />
        <TextField
          label="Name of the run"
          hint="Optional. Runs with one name are compared."
          {...field('batch', 'batch_name')}
        />
      </FormGrid>
      <p className="form-label">Input</p>
      <JsonEditor
        label="Input"
        text={form.input}
        onChange={(input) => setForm({ ...form, input })}
        schema={kind?.input_schema ?? null}
        error={error}
        root="tasks[0].metadata"
      />
      <details open={hasSettingsFault || undefined}>
        <summary>Priority, delay, timeout, attempts</summary>
        <FormGrid>
          <TextField label="Priority" hint="-1000 to 1000; higher starts first. Default 0." {...number('priority')} />
          <TextField label="Delay" hint="Seconds before it may start. Default 0." {...number('delay')} />
          <TextField label="Timeout" hint="Seconds without activity. Default 3600." {...number('timeout')} />
          <TextField label="Attempts" hint="In total, if it fails. Default 1." {...number('attempts', 'retry')} />
        </FormGrid>
      </details>
      {error !== null && <ProblemBox error={error} />}
      <div className="view-actions">
        <Button type="submit" look="primary" disabled={busy || form.kind.trim() === ''}>
          Submit task
        </Button>
        <Button
          onClick={() => {
            try {
              onDocument({ name: form.batch, text: formatJson([taskOf(form)]), note: null });
            } catch (failure) {
              setError(failure);
            }
          }}
        >
          Continue as JSON
        </Button>
        <span className="quiet">As JSON it can have dependencies, rules and webhooks.</span>
      </div>
    </form>
  );
}

function hintOfUnknown(isUnknown: boolean): string {
  return isUnknown ? 'No worker has asked for this kind yet: the task waits until one does.' : '';
}

/** @throws Error if the input is no JSON object */
function taskOf({ kind, name, priority, delay, timeout, attempts, input }: Form): object {
  const metadata = parseInput(input);
  return {
    name: name.trim() === '' ? kind.trim() : name.trim(),
    kind: kind.trim(),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(priority === '' ? {} : { priority: Number(priority) }),
    ...(delay === '' ? {} : { delay: Number(delay) }),
    ...(timeout === '' ? {} : { timeout: Number(timeout) }),
    ...(attempts === '' ? {} : { retry: { max_attempts: Number(attempts) } }),
  };
}
