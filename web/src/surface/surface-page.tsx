import type { Model } from '@heddle/client';
import { Redirect } from 'wouter';
import { models } from '../api/models.ts';
import { useFilters } from '../data/filters.ts';
import { useLive, useLiveList } from '../data/live.ts';
import { Empty } from '../ui/empty.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import { VIEWS } from './columns.tsx';
import type { SurfaceView, ViewName } from './columns.tsx';
import { NamesContext, useNamesByAddress } from './host-names.ts';
import { STATE_LABEL } from './model-state.tsx';

const FILTERS = ['model', 'target', 'state', 'search'] as const;
const LABELS = Object.fromEntries(Object.entries(VIEWS).map(([name, { label }]) => [name, label])) as Record<
  ViewName,
  string
>;
const STATES = { '': 'Any state', ...STATE_LABEL };

/** What scans found in networks: hosts, services, names, TLS endpoints and certificates. */
export function SurfacePage() {
  const [filters, change] = useFilters(FILTERS);
  const [{ open }] = useFilters(['open']);
  // Older addresses name the model in the query.
  if (open !== '') return <Redirect to={`/surface/${encodeURIComponent(open)}`} replace />;
  const name = filters.model in VIEWS ? (filters.model as ViewName) : 'host';
  return (
    <Page
      title="Surface"
      lead="What scans of networks found, as the latest runs saw it."
      actions={
        <Segments
          label="Models"
          options={LABELS}
          chosen={name}
          onChoose={(model) => change({ model: model === 'host' ? '' : model, search: '' })}
        />
      }
    >
      <SurfaceFilters filters={filters} searched={VIEWS[name].searched} onChange={change} />
      <SurfaceList key={name} name={name} filters={filters} />
    </Page>
  );
}

type Filters = ReturnType<typeof useFilters<(typeof FILTERS)[number]>>[0];

function SurfaceList({ name, filters }: { name: ViewName; filters: Filters }) {
  const view: SurfaceView = VIEWS[name];
  const { target, state, search } = filters;
  const list = useLiveList<Model>(['models', name, target, state, search], (after, signal) =>
    models.list({ model: name, target, state, search }, after, signal),
  );
  const names = useNamesByAddress(target, name === 'host' || name === 'service');
  const isFiltered = target !== '' || state !== '' || search !== '';
  // Until the first rows of this sort have arrived, the list keeps those of the other.
  const rows = list.rows?.every(({ model }) => model === name) === false ? null : list.rows;
  return (
    <NamesContext value={names}>
      <ListView
        label={view.label}
        list={{ ...list, rows }}
        columns={view.columns}
        rowId={({ id }) => id}
        href={({ id }) => `/surface/${id}`}
        empty={isFiltered ? <Empty title={`No matching ${view.noun}`} /> : <NoModels />}
      />
    </NamesContext>
  );
}

interface SurfaceFiltersProps {
  filters: Filters;
  searched: string;
  onChange: (change: Partial<Filters>) => void;
}

/** Filters by text, state and target. */
function SurfaceFilters({ filters, searched, onChange }: SurfaceFiltersProps) {
  const { data: targets = [] } = useLive(['models', 'targets'], models.targets, { every: 10_000 });
  const names = targets.map(({ target }) => target);
  if (filters.target !== '' && !names.includes(filters.target)) names.push(filters.target);
  const options = { '': 'Any target', ...Object.fromEntries(names.map((name) => [name, name])) };
  return (
    <FilterBar>
      <TextFilter
        label="Search"
        placeholder={searched}
        value={filters.search}
        onChange={(search) => onChange({ search })}
        main
      />
      <ChoiceFilter label="State" value={filters.state} options={STATES} onChange={(state) => onChange({ state })} />
      <ChoiceFilter
        label="Target"
        value={filters.target}
        options={options}
        onChange={(target) => onChange({ target })}
      />
    </FilterBar>
  );
}

function NoModels() {
  return (
    <Empty title="Nothing found yet" command="heddle workflow submit FILE --watch">
      Workflows with a <code>TcpSynGenerator</code>, a <code>DnsScanGenerator</code> or a <code>TlsScanGenerator</code>{' '}
      bring hosts, services, names and certificates here.
    </Empty>
  );
}
