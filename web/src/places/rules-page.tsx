import type { Slot } from '@heddle/client';
import { Link } from 'wouter';
import { places } from '../api/places.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { Empty } from '../ui/empty.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Count } from '../ui/time.tsx';

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
  { header: 'Held by', cell: ({ holders }) => <NamedTasks tasks={holders} /> },
  { header: 'Next', cell: ({ waiters }) => <NamedTasks tasks={waiters} /> },
];

function NamedTasks({ tasks }: { tasks: readonly { id: string; name: string }[] }) {
  const [first] = tasks;
  if (first === undefined) return '–';
  return (
    <>
      <Link href={`/tasks/${first.id}`}>{first.name}</Link>
      {tasks.length > 1 && <span className="quiet"> and {tasks.length - 1} more</span>}
    </>
  );
}

/** Rules in use: how much of each limit is taken, by whom, and who waits for it. */
export function RulesPage() {
  const [{ open }] = useFilters(['open']);
  const list = useLiveList<Slot>(['slots'], async (after, signal) => {
    const { slots, next } = await places.slots(after, signal);
    return { rows: slots, next };
  });
  return (
    <Page title="Rules" lead="Fullest first.">
      <ListView
        label="Rules"
        list={list}
        columns={COLUMNS}
        rowId={({ id }) => id}
        openId={open}
        empty={<Empty title="No rule is in use">Tasks with rules that run or wait are shown here.</Empty>}
      />
    </Page>
  );
}
