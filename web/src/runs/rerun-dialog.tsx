import type { BasicTask, Run } from '@heddle/client';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { rerun } from '../api/operations.ts';
import { listTasks, TASKS_PER_PAGE } from '../api/task-list.ts';
import { numbered } from '../data/bulk.ts';
import { useInputSchema } from '../data/kinds.ts';
import { useLive } from '../data/live.ts';
import { formatJson, parseInput } from '../data/parse-input.ts';
import { refreshAll } from '../data/query-client.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { TextFilter } from '../ui/filter-bar.tsx';
import { SelectField } from '../ui/form.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { Segments } from '../ui/segments.tsx';
import { notify } from '../ui/toast.tsx';

interface EditedInput {
  name: string;
  text: string;
}

type Edited = ReadonlyMap<string, EditedInput>;

const WAYS = { same: 'As it was', changed: 'With changed input' } as const;

/** Starts a run again: as it was, or with other inputs of some of its tasks. */
export function RerunDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const [, navigate] = useLocation();
  const [way, setWay] = useState<keyof typeof WAYS>('same');
  const [edited, setEdited] = useState<Edited>(new Map());
  const start = async (): Promise<void> => {
    const inputs: Record<string, object> = {};
    if (way === 'changed') {
      for (const [id, { name, text }] of edited) inputs[id] = parseInput(text, `The input of ${name}`);
    }
    const started = await rerun(run.id, inputs);
    notify('Started', run.title);
    void refreshAll();
    navigate(`/runs/${started.id}`);
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Run ${run.title} again?`}
      verb="Run again"
      size="wide"
      onConfirm={start}
    >
      {(error) => (
        <>
          <p className="quiet">
            Starts a new {run.type} with the same tasks and the same secrets; this one stays as it is.
          </p>
          <div className="form-part">
            <Segments label="Inputs" options={WAYS} chosen={way} onChoose={setWay} />
          </div>
          {way === 'changed' && <Inputs run={run} edited={edited} onChange={setEdited} error={error} />}
        </>
      )}
    </FormDialog>
  );
}

interface InputsProps {
  run: Run;
  edited: Edited;
  onChange: (edited: Edited) => void;
  error: unknown;
}

/** The inputs of a run, one task at a time. */
function Inputs({ run, edited, onChange, error }: InputsProps) {
  const [find, setFind] = useState('');
  const [id, setId] = useState(run.failed_task?.id ?? '');
  const { data } = useLive(
    ['rerun-tasks', run.id, find],
    (signal) => listTasks({ batch_id: run.id, name: find }, null, signal),
    { every: false },
  );
  const found = data?.toReversed() ?? [];
  const task = found.find((each) => each.id === id) ?? found[0];
  const options = Object.fromEntries(found.map((each) => [each.id, `${each.name} (${each.kind})`]));
  const edit = (text: string): void => {
    const next = new Map(edited);
    if (text === formatJson(task!.metadata)) next.delete(task!.id);
    else next.set(task!.id, { name: task!.name, text });
    onChange(next);
  };
  return (
    <div className="form-part">
      {(found.length === TASKS_PER_PAGE || find !== '') && (
        <TextFilter label="Find a task by name" value={find} onChange={setFind} />
      )}
      {task === undefined ? (
        <p className="quiet">{data === undefined ? 'Loading…' : 'No task has such a name.'}</p>
      ) : (
        <>
          <SelectField
            label="Task"
            value={task.id}
            options={options}
            onChange={setId}
            hint={edited.size === 0 ? 'All inputs are as they were.' : `${numbered(edited.size, 'input')} changed.`}
          />
          <TaskInput
            key={task.id}
            task={task}
            text={edited.get(task.id)?.text ?? formatJson(task.metadata)}
            onChange={edit}
            error={error}
          />
        </>
      )}
    </div>
  );
}

interface TaskInputProps {
  task: BasicTask;
  text: string;
  onChange: (text: string) => void;
  error: unknown;
}

function TaskInput({ task, text, onChange, error }: TaskInputProps) {
  const schema = useInputSchema(task.kind);
  const root = `inputs[${JSON.stringify(task.id)}]`;
  return (
    <JsonEditor
      label={`Input of ${task.name}`}
      text={text}
      onChange={onChange}
      schema={schema}
      error={error}
      root={root}
    />
  );
}
