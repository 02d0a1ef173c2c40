import { STATE_CLASS, STATE_LABEL, STATE_MEANING } from './node-state.ts';
import type { NodeState } from './node-state.ts';
import { STATE_ICON } from './state-icon.ts';

/** The colored square with a state's sign. */
export function StateMark({ state }: { state: NodeState }) {
  return (
    <span className={`mark mark-${STATE_CLASS[state]}`} aria-hidden="true">
      <img src={STATE_ICON[state]} alt="" width="12" height="12" />
    </span>
  );
}

export function StateChip({ state, paused = false }: { state: NodeState; paused?: boolean }) {
  return (
    <span className="status-chip" title={STATE_MEANING[state]}>
      <StateMark state={state} />
      {STATE_LABEL[state]}
      {paused && <span className="paused-mark">paused</span>}
    </span>
  );
}
