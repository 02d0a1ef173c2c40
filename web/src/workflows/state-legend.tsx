import { NODE_STATES, STATE_LABEL, STATE_MEANING } from './node-state.ts';
import type { NodeState } from './node-state.ts';
import { StateMark } from './state-chip.tsx';
import { OPEN } from './tally.ts';
import type { Tally } from './tally.ts';

interface StateLegendProps {
  tally: Tally;
  shown: ReadonlySet<NodeState>;
  onChange: (shown: ReadonlySet<NodeState>) => void;
}

/** What the colours mean, how many tasks stand in each state, and a filter of the list beside the tree. */
export function StateLegend({ tally, shown, onChange }: StateLegendProps) {
  const toggle = (state: NodeState): void => {
    const next = new Set(shown);
    if (!next.delete(state)) next.add(state);
    onChange(next);
  };
  return (
    <div className="legend" role="group" aria-label="States: click to list only some">
      {NODE_STATES.map((state) => (
        <button
          key={state}
          type="button"
          className="legend-entry"
          aria-pressed={shown.has(state)}
          data-muted={tally[state] === 0 || (shown.size > 0 && !shown.has(state))}
          title={`${STATE_LABEL[state]}: ${STATE_MEANING[state]}`}
          onClick={() => toggle(state)}
        >
          <StateMark state={state} />
          {STATE_LABEL[state]} <b className="tabular">{tally[state].toLocaleString()}</b>
        </button>
      ))}
      {tally[OPEN] > 0 && (
        <span
          className="legend-entry"
          title="Of parts that are not on the screen it is known only that they have not ended"
        >
          <i className="bar-open" /> Not ended <b className="tabular">{tally[OPEN].toLocaleString()}</b>
        </span>
      )}
    </div>
  );
}
