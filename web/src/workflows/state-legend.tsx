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

/** The colors' meanings, the number of tasks in each state, and a filter of the task list. */
export function StateLegend({ tally, shown, onChange }: StateLegendProps) {
  const toggle = (state: NodeState): void => {
    const next = new Set(shown);
    if (!next.delete(state)) next.add(state);
    onChange(next);
  };
  return (
    <div className="legend" role="group" aria-label="Filter by state">
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
        <span className="legend-entry" title="Unfinished tasks outside the loaded part of the tree">
          <i className="bar-open" /> Unfinished <b className="tabular">{tally[OPEN].toLocaleString()}</b>
        </span>
      )}
    </div>
  );
}
