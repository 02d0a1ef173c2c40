import type { BasicTask } from '@heddle/client';
import { operateTask } from '../api/client.ts';
import type { TaskOperation } from '../api/client.ts';
import { refreshAll } from '../data/query-client.ts';
import { ConfirmButton } from '../ui/dialog.tsx';
import { STATE, stateOf } from '../ui/state.ts';
import { notify, notifyError } from '../ui/toast.tsx';

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
  const run = async (operation: TaskOperation, chosen: readonly BasicTask[]): Promise<void> => {
    const results = await Promise.allSettled(chosen.map(({ id }) => operateTask(id, operation)));
    const failed = results.filter((result) => result.status === 'rejected');
    notify(`${results.length - failed.length} of ${results.length} tasks changed`);
    if (failed[0] !== undefined) notifyError(`${failed.length} tasks were not changed`, failed[0].reason);
    onDone();
    await refreshAll();
  };
  const button = (label: string, operation: TaskOperation, chosen: readonly BasicTask[], effect: string) => (
    <ConfirmButton
      label={`${label} ${chosen.length}`}
      verb={label}
      look={operation === 'cancel' ? 'danger' : 'normal'}
      title={`${label} ${chosen.length} ${chosen.length === 1 ? 'task' : 'tasks'}?`}
      disabled={chosen.length === 0}
      onConfirm={() => run(operation, chosen)}
    >
      {effect}
    </ConfirmButton>
  );
  return (
    <div className="selection-bar" role="region" aria-label="Selected tasks">
      <strong>{tasks.length.toLocaleString()} selected</strong>
      {button('Retry', 'retry', ended, 'Each starts another attempt, with the input it had.')}
      {button('Pause', 'pause', running, 'They do not start until they are resumed.')}
      {button('Resume', 'resume', paused, 'They continue where they were.')}
      {button('Cancel', 'cancel', open, 'What requires their success fails.')}
    </div>
  );
}
