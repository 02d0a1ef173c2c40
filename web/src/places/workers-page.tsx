import type { Worker } from '@heddle/client';
import { places } from '../api/places.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { AttentionBand } from '../home/attention-band.tsx';
import { Empty } from '../ui/empty.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Page } from '../ui/page.tsx';
import type { State } from '../ui/state.ts';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { NamedTasks } from './named-tasks.tsx';

const GLYPH: Readonly<Record<Worker['state'], State>> = { live: 'succeeded', stale: 'paused', lost: 'failed' };

const TYPE: Readonly<Record<Worker['type'], string>> = {
  server: 'Server',
  worker: 'Worker',
  queue_worker: 'Queue worker',
  runner: 'Runner',
  pull: 'Pull API',
};

const COLUMNS: readonly Column<Worker>[] = [
  {
    header: 'State',
    cell: ({ state }) => (
      <span className="state-badge">
        <StateGlyph state={GLYPH[state]} /> {state}
      </span>
    ),
  },
  { header: 'Worker', cell: ({ name, id }) => <span title={id}>{name}</span> },
  { header: 'Type', cell: ({ type }) => TYPE[type] },
  { header: 'Version', optional: true, cell: ({ version }) => version ?? <span className="quiet">unknown</span> },
  { header: 'Host', optional: true, cell: ({ host }) => host ?? <span className="quiet">unknown</span> },
  { header: 'Kinds', grow: true, cell: ({ kinds }) => <span title={kinds.join(', ')}>{kinds.join(', ')}</span> },
  {
    header: 'Running',
    number: true,
    cell: ({ running, concurrency }) => `${running}${concurrency === null ? '' : ` of ${concurrency}`}`,
  },
  {
    header: 'Task',
    cell: ({ tasks }) => <NamedTasks tasks={tasks} none="idle" />,
  },
  { header: 'Last seen', cell: ({ last_seen_at }) => <Ago at={last_seen_at} /> },
];

/** Everything that runs tasks: what it can run, what it runs, whether it is alive. */
export function WorkersPage() {
  const [{ open }] = useFilters(['open']);
  const answer = useLive(['workers'], places.workers);
  return (
    <Page title="Workers">
      <AttentionBand types={['lost_worker', 'no_worker']} />
      <LiveTable
        label="Workers"
        answer={answer}
        columns={COLUMNS}
        rowId={({ id }) => id}
        openId={open}
        empty={<Empty title="No workers" command="heddle worker --module FILE" />}
      />
    </Page>
  );
}
