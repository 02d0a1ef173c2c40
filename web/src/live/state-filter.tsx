import { STATE, partsOf } from '../ui/state.ts';
import type { State, Tally } from '../ui/state.ts';
import { StateGlyph } from '../ui/glyphs.tsx';

interface StateFilterProps {
  tally: Tally;
  /** Empty: all. */
  shown: ReadonlySet<State>;
  onChange: (shown: ReadonlySet<State>) => void;
}

/** The states that occur, with the number of tasks in each, as a filter. */
export function StateFilter({ tally, shown, onChange }: StateFilterProps) {
  const toggle = (state: State): void => {
    const next = new Set(shown);
    if (!next.delete(state)) next.add(state);
    onChange(next);
  };
  const absent = [...shown].filter((state) => (tally[state] ?? 0) === 0);
  return (
    <div className="state-filter" role="group" aria-label="Filter by state">
      {partsOf(tally).map(({ state, n }) =>
        state === 'open' ? (
          <span key={state} className="state-choice" title="Unfinished tasks outside the loaded part of the tree">
            <i className="fill-open" /> Unfinished <b className="tabular">{n.toLocaleString()}</b>
          </span>
        ) : (
          <Choice key={state} state={state} n={n} isChosen={shown.has(state)} onToggle={toggle} />
        ),
      )}
      {absent.map((state) => (
        <Choice key={state} state={state} n={0} isChosen onToggle={toggle} />
      ))}
    </div>
  );
}

interface ChoiceProps {
  state: State;
  n: number;
  isChosen: boolean;
  onToggle: (state: State) => void;
}

function Choice({ state, n, isChosen, onToggle }: ChoiceProps) {
  return (
    <button
      type="button"
      className="state-choice"
      aria-pressed={isChosen}
      title={`${STATE[state].label}: ${STATE[state].meaning}`}
      onClick={() => onToggle(state)}
    >
      <StateGlyph state={state} />
      {STATE[state].label} <b className="tabular">{n.toLocaleString()}</b>
    </button>
  );
}
