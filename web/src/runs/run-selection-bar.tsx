import type { Run } from '@heddle/client';
import { changeRuns } from '../api/operations.ts';
import type { Operation } from '../api/operations.ts';
import { numbered, reportBulk } from '../data/bulk.ts';
import { ConfirmButton } from '../ui/dialog.tsx';

interface RunSelectionBarProps {
  runs: readonly Run[];
  onDone: () => void;
}

/** What can be done with the selected runs at once. */
export function RunSelectionBar({ runs, onDone }: RunSelectionBarProps) {
  const open = runs.filter(({ ended_at }) => ended_at === null);
  const paused = open.filter(({ state }) => state === 'Paused');
  const active = open.filter(({ state }) => state !== 'Paused');
  // A batch can be retried while others of its tasks are open.
  const failed = runs.filter(
    ({ type, ended_at, counts }) => (type === 'batch' || ended_at !== null) && counts.failed + counts.canceled > 0,
  );
  const run = async (operation: Operation, done: string, chosen: readonly Run[]): Promise<void> => {
    const result = await changeRuns(
      operation,
      chosen.map(({ id }) => id),
    );
    onDone();
    await reportBulk('run', done, result);
  };
  const button = (label: string, operation: Operation, done: string, chosen: readonly Run[], effect: string) => (
    <ConfirmButton
      label={`${label} ${chosen.length}`}
      verb={`${label.split(' ')[0]!} runs`}
      look={operation === 'cancel' ? 'danger' : 'normal'}
      title={`${label} ${numbered(chosen.length, 'run')}?`}
      disabled={chosen.length === 0}
      onConfirm={() => run(operation, done, chosen)}
    >
      {effect}
    </ConfirmButton>
  );
  const again = 'What failed, timed out or was canceled runs again, and what comes after it.';
  return (
    <div className="selection-bar" role="region" aria-label="Selected runs">
      <strong>{runs.length.toLocaleString()} selected</strong>
      {button('Retry', 'retry', 'retried', failed, again)}
      {button('Pause', 'pause', 'paused', active, 'Nothing of them starts until they are resumed.')}
      {button('Resume', 'resume', 'resumed', paused, 'Their tasks continue where they were.')}
      {button('Cancel', 'cancel', 'canceled', open, 'Their unfinished tasks end as canceled.')}
    </div>
  );
}
