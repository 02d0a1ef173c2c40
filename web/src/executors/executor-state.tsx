import type { ExecutorState } from '../api/executors.ts';

const LABEL: Record<ExecutorState, string> = {
  unknown: 'Not asked yet',
  healthy: 'Healthy',
  degraded: 'Degraded',
  draining: 'Draining',
  unreachable: 'Unreachable',
};

const MEANING: Record<ExecutorState, string> = {
  unknown: 'It has not answered once',
  healthy: 'It takes tasks',
  degraded: 'It takes tasks, and says that something is wrong with it',
  draining: 'It finishes what it has, and takes nothing new',
  unreachable: 'Calls to it fail',
};

/** The colours of tasks, by how much attention an executor wants. */
const MARK: Record<ExecutorState, string> = {
  unknown: 'waiting',
  healthy: 'success',
  degraded: 'paused',
  draining: 'paused',
  unreachable: 'failure',
};

export function ExecutorChip({ state }: { state: ExecutorState }) {
  return (
    <span className="status-chip" title={MEANING[state]}>
      <span className={`mark mark-${MARK[state]}`} aria-hidden="true" />
      {LABEL[state]}
    </span>
  );
}
