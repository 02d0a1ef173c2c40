import type { ExecutorState } from '../api/executors.ts';

const LABEL: Record<ExecutorState, string> = {
  unknown: 'Unknown',
  healthy: 'Healthy',
  degraded: 'Degraded',
  draining: 'Draining',
  unreachable: 'Unreachable',
};

const MEANING: Record<ExecutorState, string> = {
  unknown: 'No response yet',
  healthy: 'Accepting tasks',
  degraded: 'Accepting tasks, but reporting a problem',
  draining: 'Finishing its tasks, not accepting new ones',
  unreachable: 'Calls fail',
};

/** Uses the colors of tasks, by how much attention an executor needs. */
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
