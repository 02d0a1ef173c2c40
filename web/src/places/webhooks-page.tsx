import type { Delivery } from '@heddle/client';
import { Link } from 'wouter';
import { places } from '../api/places.ts';
import { replayDelivery } from '../api/webhooks.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { AttentionBand } from '../home/attention-band.tsx';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import type { State } from '../ui/state.ts';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { notify, notifyError } from '../ui/toast.tsx';

const GLYPH: Readonly<Record<Delivery['state'], State>> = {
  held: 'waiting',
  due: 'pending',
  delivered: 'succeeded',
  dead: 'failed',
};

const STATES: Readonly<Record<string, string>> = {
  '': 'Any state',
  due: 'Due',
  dead: 'Dead',
  held: 'Held',
  delivered: 'Delivered',
};

const COLUMNS: readonly Column<Delivery>[] = [
  {
    header: 'State',
    cell: ({ state }) => (
      <span className="state-badge">
        <StateGlyph state={GLYPH[state]} /> {state}
      </span>
    ),
  },
  { header: 'Target', cell: ({ origin }) => origin },
  { header: 'Trigger', cell: ({ action }) => action.trigger },
  {
    header: 'Task',
    cell: ({ task_id, task_name }) =>
      task_id === null ? (
        'end of a workflow'
      ) : (
        <Link href={`/tasks/${task_id}?tab=webhooks`}>{task_name ?? task_id}</Link>
      ),
  },
  { header: 'Tries', number: true, cell: ({ tries }) => tries },
  {
    header: 'Last answer',
    grow: true,
    cell: ({ last_status, last_error }) => (
      <span title={last_error ?? undefined}>{[last_status, last_error].filter((part) => part !== null).join(' ')}</span>
    ),
  },
  { header: 'Next try', cell: ({ next_try_at }) => <Ago at={next_try_at} /> },
  { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
];

const REPLAY: Column<Delivery> = {
  header: 'Replay',
  cell: ({ id, state }) => state === 'dead' && <Button onClick={() => replay(id)}>Replay</Button>,
};

function replay(id: string): void {
  replayDelivery(id).then(
    () => {
      notify('It is sent again');
      void refreshAll();
    },
    (error: unknown) => notifyError('Not sent again', error),
  );
}

/** Calls to targets: what they answered, when they are tried again, and the replay of abandoned ones. */
export function WebhooksPage() {
  const [filters, change] = useFilters(['state', 'origin']);
  const can = useCan();
  const list = useLiveList<Delivery>(['webhooks', filters], (after, signal) => places.webhooks(filters, after, signal));
  const isFiltered = filters.state !== '' || filters.origin !== '';
  return (
    <Page title="Webhooks">
      <AttentionBand types={['webhook_dead', 'webhook_failing']} />
      <FilterBar>
        <TextFilter label="Target" value={filters.origin} onChange={(origin) => change({ origin })} main />
        <ChoiceFilter label="State" value={filters.state} options={STATES} onChange={(state) => change({ state })} />
      </FilterBar>
      <ListView
        label="Deliveries"
        list={list}
        columns={can('operate') ? [...COLUMNS, REPLAY] : COLUMNS}
        rowId={({ id }) => id}
        empty={<Empty title={isFiltered ? 'No matching deliveries' : 'No webhook has been called'} />}
      />
    </Page>
  );
}
