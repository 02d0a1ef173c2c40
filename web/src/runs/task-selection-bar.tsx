import type { BasicTask } from '@heddle/client';
import { changeTasks } from '../api/operations.ts';
import type { Operation } from '../api/operations.ts';
import { numbered, reportBulk } from '../data/bulk.ts';
import { ConfirmButton } from '../ui/dialog.tsx';
import { STATE, stateOf } from '../ui/state.ts';

interface TaskSelectionBarProps {
  tasks: readonly BasicTask[];
  onDone: () => void;
}

/** What can be done with the selected tasks at once. */
export function TaskSelectionBar({ tasks, onDone }: TaskSelectionBarProps) {
  const open = tasks.filter(({ status }) => !STATE[stateOf(status)].ended);
  const ended = tasks.filter(({ status }) => STATE[stateOf(status)].ended && stateOf(status) !== 'succeeded');
  const paused = open.filter(({ status }) => status === 'Paused');
  const running = open.filter(({ status }) => status !== 'Paused');
  const run = async (operation: Operation, done: string, chosen: readonly BasicTask[]): Promise<void> => {
    const result = await changeTasks(
      operation,
      chosen.map(({ id }) => id),
    );
    onDone();
    await reportBulk('task', done, result);
  };
  const button = (label: string, operation: Operation, done: string, chosen: readonly BasicTask[], effect: string) => (
    <ConfirmButton
      label={`${label} ${chosen.length}`}
      verb={`${label} tasks`}
      look={operation === 'cancel' ? 'danger' : 'normal'}
      title={`${label} ${numbered(chosen.length, 'task')}?`}
      disabled={chosen.length === 0}
      onConfirm={() => run(operation, done, chosen)}
    >
      {effect}
    </ConfirmButton>
  );
  return (
    <div className="selection-bar" role="region" aria-label="Selected tasks">
      <strong>{tasks.length.toLocaleString()} selected</strong>
      {button('Retry', 'retry', 'retried', ended, 'Each starts another attempt, with the input it had.')}
      {button('Pause', 'pause', 'paused', running, 'They do not start until they are resumed.')}
      {button('Resume', 'resume', 'resumed', paused, 'They continue where they were.')}
      {button('Cancel', 'cancel', 'canceled', open, 'What requires their success fails.')}
    </div>
  );
}
