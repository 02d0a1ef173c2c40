import { STATE_CLASS } from './node-state.ts';
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
