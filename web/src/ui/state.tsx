import { STATE, partsOf } from './state.ts';
import type { State, Tally } from './state.ts';
import { StateGlyph } from './glyphs.tsx';

/** A state with its glyph and its word. */
export function StateBadge({ state, label }: { state: State; label?: string }) {
  return (
    <span className="state-badge" data-state={state} title={STATE[state].meaning}>
      <StateGlyph state={state} />
      {label ?? STATE[state].label}
    </span>
  );
}

/** A bar divided by outcome, with the counts as its text alternative. */
export function OutcomeBar({ tally, label = 'Tasks by state' }: { tally: Tally; label?: string }) {
  const parts = partsOf(tally);
  const words = parts.map(({ n, label: name }) => `${n.toLocaleString()} ${name}`).join(', ');
  return (
    <span className="outcome-bar" role="img" aria-label={`${label}: ${words === '' ? 'none' : words}`} title={words}>
      {parts.map(({ state, n }) => (
        <span key={state} className={`outcome-part fill-${state}`} style={{ flexGrow: n }} />
      ))}
    </span>
  );
}

/** The counts of a tally, each with the glyph and the word of its state. */
export function TallyList({ tally }: { tally: Tally }) {
  return (
    <span className="tally-list">
      {partsOf(tally).map(({ state, n, label }) => (
        <span key={state} className="tally-part tabular">
          {state === 'open' ? <i className="fill-open" /> : <StateGlyph state={state} size={13} />} {n.toLocaleString()}{' '}
          {label}
        </span>
      ))}
    </span>
  );
}
