import type { Slot } from '@heddle/client';
import { places } from '../api/places.ts';
import { releaseTask } from '../api/tasks.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { AttentionBand } from '../home/attention-band.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Count } from '../ui/time.tsx';
import { notify } from '../ui/toast.tsx';
import { NamedTasks } from './named-tasks.tsx';

const COLUMNS: readonly Column<Slot>[] = [
  { header: 'Kind', cell: ({ kind }) => kind },
  { header: 'Rule', cell: ({ rule }) => rule },
  {
    header: 'For',
    grow: true,
    cell: ({ fields }) => (Object.keys(fields).length === 0 ? 'all tasks' : JSON.stringify(fields)),
  },
  {
    header: 'Used',
    number: true,
    cell: ({ used, max, full }) => (
      <span className={full ? 'rule-full' : undefined}>
        {used.toLocaleString()} of {max.toLocaleString()}
        {full && ', full'}
      </span>
    ),
  },
  { header: 'Waiting', number: true, cell: ({ waiting }) => <Count n={waiting.n} capped={waiting.n_capped} /> },
  { header: 'Since', cell: ({ waiting_since }) => <Ago at={waiting_since} /> },
  {
    header: 'Held by',
    cell: ({ holders }) => (
      <>
        <NamedTasks tasks={holders} none="none" />
        {holders.some(isCanceled) && <span className="quiet">, canceled</span>}
      </>
    ),
  },
  { header: 'Waits next', cell: ({ waiters }) => <NamedTasks tasks={waiters} none="none" /> },
];

const RELEASE: Column<Slot> = {
  header: 'Release',
  cell: ({ holders }) => {
    const holder = holders.find(isCanceled);
    return (
      holder !== undefined && (
        <ConfirmButton
          label="Release"
          verb="Release"
          title={`Release what ${holder.name} holds?`}
          onConfirm={() => release(holder)}
        >
          It is canceled, and its worker has not said that it stopped. Release it only if the worker is gone: otherwise
          both it and the next task work at the same time.
        </ConfirmButton>
      )
    );
  },
};

type Holder = Slot['holders'][number];

function isCanceled({ status }: Holder): boolean {
  return status === 'Canceled';
}

async function release({ id, name }: Holder): Promise<void> {
  await releaseTask(id);
  notify('Released', name);
  await refreshAll();
}

/** Rules in use: how much of each limit is taken, by whom, and who waits for it. */
export function RulesPage() {
  const [{ open }] = useFilters(['open']);
  const can = useCan();
  const list = useLiveList<Slot>(['slots'], async (after, signal) => {
    const { slots, next } = await places.slots(after, signal);
    return { rows: slots, next };
  });
  return (
    <Page title="Rules" lead="Fullest first.">
      <AttentionBand types={['full_rule']} />
      <ListView
        label="Rules"
        list={list}
        columns={can('operate') ? [...COLUMNS, RELEASE] : COLUMNS}
        rowId={({ id }) => id}
        openId={open}
        empty={<Empty title="No rule is in use">Tasks with rules that run or wait are shown here.</Empty>}
      />
    </Page>
  );
}
