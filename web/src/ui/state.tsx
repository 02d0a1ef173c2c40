import { BAR_ORDER, STATE } from './state.ts';
import type { State } from './state.ts';
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

export type Tally = Readonly<Partial<Record<State, number>>>;

/** A bar divided by outcome, with the counts as its text alternative. */
export function OutcomeBar({ tally, label = 'Tasks by state' }: { tally: Tally; label?: string }) {
  const parts = BAR_ORDER.filter((state) => (tally[state] ?? 0) > 0).map((state) => ({ state, n: tally[state] ?? 0 }));
  const words = parts.map(({ state, n }) => `${n.toLocaleString()} ${STATE[state].label.toLowerCase()}`).join(', ');
  return (
    <span className="outcome-bar" role="img" aria-label={`${label}: ${words === '' ? 'none' : words}`} title={words}>
      {parts.map(({ state, n }) => (
        <span key={state} className={`outcome-part fill-${state}`} style={{ flexGrow: n }} />
      ))}
    </span>
  );
}
