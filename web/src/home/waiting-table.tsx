import type { WaitingGroup } from '@heddle/client';
import { Link } from 'wouter';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Count } from '../ui/time.tsx';

const COLUMNS: readonly Column<WaitingGroup>[] = [
  {
    header: 'Waits for',
    grow: true,
    cell: (group) => (
      <Link href={hrefOf(group)} title={group.text}>
        {group.text}
      </Link>
    ),
  },
  { header: 'Tasks', number: true, cell: ({ tasks, tasks_capped }) => <Count n={tasks} capped={tasks_capped} /> },
  { header: 'Since', cell: ({ since }) => <Ago at={since} /> },
  {
    header: 'First task',
    optional: true,
    cell: ({ sample }) => sample !== null && <Link href={`/tasks/${sample.task_id}`}>{sample.name}</Link>,
  },
];

/** Tasks that do not run, by what they wait for. */
export function WaitingTable({ groups }: { groups: readonly WaitingGroup[] }) {
  return (
    <Table
      label="Waiting tasks by reason"
      columns={COLUMNS}
      rows={groups}
      rowId={(group) => `${group.type} ${group.text}`}
      href={hrefOf}
    />
  );
}

function hrefOf({ type, slot_id, kind, sample }: WaitingGroup): string {
  if (type === 'rule' && slot_id !== null) return `/rules?open=${encodeURIComponent(slot_id)}`;
  if (type === 'runner') return '/pool';
  if (type === 'queued') return '/workers';
  if (sample !== null) return `/tasks/${sample.task_id}`;
  return `/runs?state=open${kind === null ? '' : `&kind=${encodeURIComponent(kind)}`}`;
}
