import { findings } from '../api/findings.ts';
import type { FilterValues } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { Button } from '../ui/button.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { STATE_LABEL, TRIAGE_LABEL, VERDICT_LABEL } from './finding-state.tsx';

export const FILTERS = ['state', 'triage', 'target', 'rule', 'path', 'confidence', 'verdict', 'secret'] as const;
type Filters = FilterValues<(typeof FILTERS)[number]>;

const STATES = { '': 'Any state', ...STATE_LABEL };
const CONFIDENCES = { '': 'Any confidence', medium: 'Medium or high', high: 'High' };
const VERDICTS = { '': 'Any verdict', ...VERDICT_LABEL };
const TRIAGES = { '': 'Any triage', ...TRIAGE_LABEL };

interface FiltersProps {
  filters: Filters;
  onChange: (change: Partial<Filters>) => void;
}

/** Filters by path, rule, state, confidence, verdict, triage and target; a page of a finding leads here with its secret. */
export function FindingFilters({ filters, onChange }: FiltersProps) {
  const { data: targets = [] } = useLive(['findings', 'targets'], findings.targets, { every: 10_000 });
  const names = targets.map(({ target }) => target);
  if (filters.target !== '' && !names.includes(filters.target)) names.push(filters.target);
  const options = { '': 'Any target', ...Object.fromEntries(names.map((name) => [name, name])) };
  return (
    <FilterBar>
      <TextFilter
        label="Path"
        placeholder="Path prefix"
        value={filters.path}
        onChange={(path) => onChange({ path })}
        main
      />
      <TextFilter label="Rule" value={filters.rule} onChange={(rule) => onChange({ rule })} />
      <ChoiceFilter label="State" value={filters.state} options={STATES} onChange={(state) => onChange({ state })} />
      <ChoiceFilter
        label="Confidence"
        value={filters.confidence}
        options={CONFIDENCES}
        onChange={(confidence) => onChange({ confidence })}
      />
      <ChoiceFilter
        label="Verdict"
        value={filters.verdict}
        options={VERDICTS}
        onChange={(verdict) => onChange({ verdict })}
      />
      <ChoiceFilter
        label="Triage"
        value={filters.triage}
        options={TRIAGES}
        onChange={(triage) => onChange({ triage })}
      />
      <ChoiceFilter
        label="Target"
        value={filters.target}
        options={options}
        onChange={(target) => onChange({ target })}
      />
      {filters.secret !== '' && (
        <Button onClick={() => onChange({ secret: '' })} title="Only places of one secret are listed">
          One secret ×
        </Button>
      )}
    </FilterBar>
  );
}
