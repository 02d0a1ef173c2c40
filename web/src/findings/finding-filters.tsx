import { FINDING_STATES, listTargets, TRIAGE_STATES } from '../api/findings.ts';
import type { FindingQuery, FindingState, TriageState } from '../api/findings.ts';
import { TargetFilter, TypedFilter } from '../list/filters.tsx';
import { STATE_LABEL, TRIAGE_LABEL } from './finding-state.tsx';

export const NO_FILTER: FindingQuery = { target: '', rule: '', path: '', state: '', triage: '' };

interface FiltersProps {
  query: FindingQuery;
  /** Changes some filters; typed ones are applied with a delay. */
  onQuery: (change: Partial<FindingQuery>) => void;
}

/** Filters by state, triage, target, rule and path. */
export function FindingFilters({ query, onQuery }: FiltersProps) {
  return (
    <form className="list-filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <div className="segments" role="group" aria-label="Filter findings">
        {(['', ...FINDING_STATES] as (FindingState | '')[]).map((state) => (
          <button key={state} type="button" aria-pressed={query.state === state} onClick={() => onQuery({ state })}>
            {state === '' ? 'All' : STATE_LABEL[state]}
          </button>
        ))}
      </div>
      <label>
        <span className="visually-hidden">Triage</span>
        <select value={query.triage} onChange={(event) => onQuery({ triage: event.target.value as TriageState | '' })}>
          <option value="">Any triage</option>
          {TRIAGE_STATES.map((state) => (
            <option key={state} value={state}>
              {TRIAGE_LABEL[state]}
            </option>
          ))}
        </select>
      </label>
      <TargetFilter list={listTargets} value={query.target} onValue={(target) => onQuery({ target })} />
      <TypedFilter label="Rule" placeholder="rule" value={query.rule} onValue={(rule) => onQuery({ rule })} />
      <TypedFilter label="Path" placeholder="path prefix" value={query.path} onValue={(path) => onQuery({ path })} />
    </form>
  );
}
