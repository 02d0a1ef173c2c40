import { useState } from 'react';
import type { Run } from '@heddle/client';
import { getHome, listRuns } from '../api/runs.ts';
import { useFilters } from '../data/filters.ts';
import { useLive, useLiveList } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { LinkButton } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import { NoRuns } from './no-runs.tsx';
import { RunNames } from './run-names.tsx';
import { RUN_COLUMNS } from './run-columns.tsx';
import { RunSelectionBar } from './run-selection-bar.tsx';

const FILTERS = ['state', 'q', 'kind', 'job', 'metadata', 'since', 'type', 'fingerprint', 'by'] as const;

const STATES: Readonly<Record<string, string>> = {
  '': 'Any state',
  open: 'Open',
  failing: 'Failing',
  Failed: 'Failed',
  PartiallyFailed: 'Partially failed',
  TimedOut: 'Timed out',
  Canceled: 'Canceled',
  Succeeded: 'Succeeded',
  Paused: 'Paused',
};

const TYPES: Readonly<Record<string, string>> = { '': 'Any type', batch: 'Batches', workflow: 'Workflows' };

const SINCE: Readonly<Record<string, string>> = {
  '': 'Any time',
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
};

const HOURS: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 };
const HOUR_MS = 3_600_000;

/** Batches and workflows in one list, or grouped by name. */
export function RunsPage() {
  const [filters, change] = useFilters(FILTERS);
  const can = useCan();
  const isByName = filters.by === 'name';
  return (
    <Page
      title="Runs"
      actions={
        <>
          <Segments
            label="Group"
            options={{ all: 'All', name: 'By name' }}
            chosen={isByName ? 'name' : 'all'}
            onChoose={(by) => change({ by: by === 'all' ? '' : by })}
          />
          {can('submit') && (
            <LinkButton href="/submit" look="primary">
              Submit
            </LinkButton>
          )}
        </>
      }
    >
      <FilterBar>
        <TextFilter label="Name" value={filters.q} onChange={(q) => change({ q })} main />
        {!isByName && (
          <>
            <ChoiceFilter
              label="State"
              value={filters.state}
              options={STATES}
              onChange={(state) => change({ state })}
            />
            <ChoiceFilter label="Type" value={filters.type} options={TYPES} onChange={(type) => change({ type })} />
            <ChoiceFilter
              label="Created"
              value={filters.since}
              options={SINCE}
              onChange={(since) => change({ since })}
            />
            <ReasonFilter value={filters.fingerprint} onChange={(fingerprint) => change({ fingerprint })} />
            <TextFilter label="Kind" value={filters.kind} onChange={(kind) => change({ kind })} />
            <TextFilter label="Job" value={filters.job} onChange={(job) => change({ job })} />
            <TextFilter
              label="Metadata"
              placeholder={'Metadata: {"team": "web"}'}
              value={filters.metadata}
              onChange={(metadata) => change({ metadata })}
            />
          </>
        )}
      </FilterBar>
      {isByName ? <RunNames q={filters.q} /> : <AllRuns filters={filters} />}
    </Page>
  );
}

const REASON_CHARS = 60;

/** Runs by why their tasks fail: one of the groups of Home, or the one in the address. */
function ReasonFilter({ value, onChange }: { value: string; onChange: (fingerprint: string) => void }) {
  const { data: home } = useLive(['home'], getHome, { every: 30_000 });
  const groups = home?.failing ?? [];
  if (groups.length === 0 && value === '') return null;
  const options: Record<string, string> = { '': 'Any reason' };
  for (const { fingerprint, kind, reason } of groups) {
    options[fingerprint] = `${kind}: ${reason.length > REASON_CHARS ? `${reason.slice(0, REASON_CHARS)}…` : reason}`;
  }
  if (value !== '') options[value] ??= 'One reason';
  return <ChoiceFilter label="Failing" value={value} options={options} onChange={onChange} />;
}

function AllRuns({ filters }: { filters: Readonly<Record<(typeof FILTERS)[number], string>> }) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const can = useCan();
  const { by: _by, since, ...rest } = filters;
  const list = useLiveList<Run>(['runs', rest, since], async (after, signal) => {
    const { runs, next } = await listRuns({ ...rest, since: startOf(since) }, after, signal);
    return { rows: runs, next };
  });
  const isFiltered = Object.values(rest).some((value) => value !== '') || since !== '';
  return (
    <>
      {selected.size > 0 && (
        <RunSelectionBar
          runs={(list.rows ?? []).filter(({ id }) => selected.has(id))}
          onDone={() => setSelected(new Set())}
        />
      )}
      <ListView
        label="Runs"
        list={list}
        columns={RUN_COLUMNS}
        rowId={({ id }) => id}
        href={({ id }) => `/runs/${id}`}
        {...(can('operate') ? { selection: { ids: selected, onChange: setSelected } } : {})}
        empty={isFiltered ? <Empty title="No matching runs" /> : <NoRuns />}
      />
    </>
  );
}

/** The beginning of a period, to the minute, so that it stays the same while a list is open. */
function startOf(period: string): string {
  const hours = HOURS[period];
  if (hours === undefined) return period;
  return new Date(Math.floor((Date.now() - hours * HOUR_MS) / 60_000) * 60_000).toISOString();
}
