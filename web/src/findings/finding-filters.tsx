import { useCallback, useEffect, useState } from 'react';
import { FINDING_STATES, listTargets, TRIAGE_STATES } from '../api/findings.ts';
import type { FindingQuery, FindingState, TriageState } from '../api/findings.ts';
import { usePolled } from '../live/use-polled.ts';
import { STATE_LABEL, TRIAGE_LABEL } from './finding-state.tsx';

const TARGETS_MAX = 100;
const TARGETS_REFRESH_MS = 15_000;
/** A filter that is typed is asked for when nothing more is typed for so long. */
const TYPING_MS = 300;

export const NO_FILTER: FindingQuery = { target: '', rule: '', path: '', state: '', triage: '' };

interface FiltersProps {
  query: FindingQuery;
  /** Changes part of it; what is typed comes a little later than the rest. */
  onQuery: (change: Partial<FindingQuery>) => void;
}

/** By state, judgement, target, rule and path. */
export function FindingFilters({ query, onQuery }: FiltersProps) {
  const read = useCallback((signal: AbortSignal) => listTargets(TARGETS_MAX, signal), []);
  const { value: targets } = usePolled(read, TARGETS_REFRESH_MS);
  const names = (targets ?? []).map(({ target }) => target);
  // A target of an address that is followed is shown, whether or not it is among the first.
  const shown = query.target === '' || names.includes(query.target) ? names : [query.target, ...names];
  return (
    <form className="finding-filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <div className="segments" role="group" aria-label="Which findings">
        {(['', ...FINDING_STATES] as (FindingState | '')[]).map((state) => (
          <button key={state} type="button" aria-pressed={query.state === state} onClick={() => onQuery({ state })}>
            {state === '' ? 'All' : STATE_LABEL[state]}
          </button>
        ))}
      </div>
      <label>
        <span className="visually-hidden">Judged</span>
        <select value={query.triage} onChange={(event) => onQuery({ triage: event.target.value as TriageState | '' })}>
          <option value="">However judged</option>
          {TRIAGE_STATES.map((state) => (
            <option key={state} value={state}>
              {TRIAGE_LABEL[state]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="visually-hidden">Target</span>
        <select value={query.target} onChange={(event) => onQuery({ target: event.target.value })}>
          <option value="">All targets</option>
          {shown.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <TypedFilter label="Rule" placeholder="rule" value={query.rule} onValue={(rule) => onQuery({ rule })} />
      <TypedFilter
        label="Path"
        placeholder="path begins with"
        value={query.path}
        onValue={(path) => onQuery({ path })}
      />
    </form>
  );
}

interface TypedFilterProps {
  label: string;
  placeholder: string;
  value: string;
  onValue: (value: string) => void;
}

function TypedFilter({ label, placeholder, value, onValue }: TypedFilterProps) {
  const [text, setText] = useState(value);
  useEffect(() => {
    const typed = text.trim();
    if (typed === value) return undefined;
    const timer = setTimeout(() => onValue(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      aria-label={label}
      placeholder={placeholder}
      value={text}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setText(event.target.value)}
    />
  );
}
