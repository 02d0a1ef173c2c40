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

const UNKNOWN = <span className="quiet">unknown</span>;

/** Whether the running tasks of a worker are counted: one that reads queues without a database reports nothing. */
const isCounted = ({ type, version }: Worker): boolean => type !== 'queue_worker' || version !== null;

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
  { header: 'Version', optional: true, cell: ({ version }) => version ?? UNKNOWN },
  { header: 'Host', optional: true, cell: ({ host }) => host ?? UNKNOWN },
  { header: 'Kinds', grow: true, cell: ({ kinds }) => <span title={kinds.join(', ')}>{kinds.join(', ')}</span> },
  {
    header: 'Running',
    number: true,
    cell: (worker) => {
      const { running, concurrency } = worker;
      return isCounted(worker) ? `${running}${concurrency === null ? '' : ` of ${concurrency}`}` : UNKNOWN;
    },
  },
  {
    header: 'Task',
    cell: (worker) => {
      // Tasks from queues are counted without their names.
      const isIdle = isCounted(worker) && worker.running === 0;
      return <NamedTasks tasks={worker.tasks} none={isIdle ? 'idle' : 'unknown'} />;
    },
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
