import type { DeadLetter, ListedQueue } from '@heddle/client';
import { places, redrive } from '../api/places.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { AttentionBand } from '../home/attention-band.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Page, Section } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Count } from '../ui/time.tsx';
import { notify } from '../ui/toast.tsx';

const COLUMNS: readonly Column<ListedQueue>[] = [
  { header: 'Queue', grow: true, cell: ({ name }) => name },
  { header: 'Holds', cell: ({ type }) => (type === 'kind' ? 'tasks of this kind' : 'messages') },
  { header: 'Ready', number: true, cell: ({ ready }) => <Count n={ready.n} capped={ready.n_capped} /> },
  { header: 'Oldest', cell: ({ oldest_at }) => <Ago at={oldest_at} /> },
  { header: 'In flight', number: true, cell: ({ in_flight }) => <Count n={in_flight} /> },
  { header: 'Delayed', number: true, cell: ({ delayed }) => <Count n={delayed} /> },
  { header: 'Dead letters', number: true, cell: ({ dead }) => <Count n={dead} /> },
  { header: 'Workers', number: true, cell: ({ workers }) => <Count n={workers} /> },
];

const DEAD_COLUMNS: readonly Column<DeadLetter>[] = [
  { header: 'Queue', cell: ({ queue }) => queue },
  { header: 'Reason', grow: true, cell: ({ reason }) => <span title={reason}>{reason}</span> },
  { header: 'Receives', number: true, cell: ({ receive_count }) => receive_count },
  { header: 'Sent', cell: ({ sent_at }) => <Ago at={sent_at} /> },
  { header: 'Dead since', cell: ({ dead_lettered_at }) => <Ago at={dead_lettered_at} /> },
];

/** How much waits, for how long, and what could not be processed. */
export function QueuesPage() {
  const [{ open }] = useFilters(['open']);
  const queues = useLive(['queues'], places.queues);
  const dead = useLive(['dead-letters'], places.deadLetters);
  const can = useCan();
  const names = [...new Set((dead.data ?? []).map(({ queue }) => queue))];
  return (
    <Page title="Queues">
      <AttentionBand types={['dead_letters', 'no_worker']} />
      <LiveTable
        label="Queues"
        answer={queues}
        columns={COLUMNS}
        rowId={({ name, type }) => (type === 'kind' ? `kind ${name}` : name)}
        openId={open}
        empty={<Empty title="Nothing is queued" />}
      />
      <Section title="Dead letters" beside={can('operate') && names.map((name) => <Redrive key={name} queue={name} />)}>
        <LiveTable
          label="Dead letters"
          answer={dead}
          columns={DEAD_COLUMNS}
          rowId={({ id }) => id}
          empty={<p className="quiet">None.</p>}
        />
      </Section>
    </Page>
  );
}

function Redrive({ queue }: { queue: string }) {
  const run = async (): Promise<void> => {
    await redrive(queue);
    notify('Dead letters returned', queue);
    await refreshAll();
  };
  return (
    <ConfirmButton
      label={`Redrive ${queue}`}
      verb="Redrive"
      title={`Return all dead letters to ${queue}?`}
      onConfirm={run}
    >
      They are processed again. Those that fail again come back here.
    </ConfirmButton>
  );
}
