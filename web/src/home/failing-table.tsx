import type { FailingGroup } from '@heddle/client';
import { Link } from 'wouter';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Count } from '../ui/time.tsx';

const COLUMNS: readonly Column<FailingGroup>[] = [
  {
    header: 'Reason',
    grow: true,
    cell: ({ fingerprint, reason }) => (
      <Link href={addressOf(fingerprint)} title={reason}>
        {reason}
      </Link>
    ),
  },
  { header: 'Kind', cell: ({ kind }) => kind },
  { header: 'Tasks', number: true, cell: ({ tasks, tasks_capped }) => <Count n={tasks} capped={tasks_capped} /> },
  {
    header: 'Runs',
    number: true,
    cell: ({ runs, fingerprint }) => (
      <Link href={`/runs?fingerprint=${fingerprint}`} aria-label={`Runs with this failure: ${runs}`}>
        <Count n={runs} />
      </Link>
    ),
  },
  { header: 'Since', cell: ({ first_at }) => <Ago at={first_at} /> },
  { header: 'Last', cell: ({ last_at }) => <Ago at={last_at} /> },
  {
    header: 'Latest task',
    optional: true,
    cell: ({ sample }) => <Link href={`/tasks/${sample.task_id}`}>{sample.name}</Link>,
  },
];

/** Failed tasks by reason, the largest groups first. */
export function FailingTable({ groups }: { groups: readonly FailingGroup[] }) {
  return (
    <Table
      label="Failing tasks by reason"
      columns={COLUMNS}
      rows={groups}
      rowId={({ fingerprint }) => fingerprint}
      href={({ fingerprint }) => addressOf(fingerprint)}
    />
  );
}

function addressOf(fingerprint: string): string {
  return `/failures/${fingerprint}`;
}
