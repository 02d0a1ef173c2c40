import type { FailedTask } from '@heddle/client';
import { useState } from 'react';
import { useParams } from 'wouter';
import { Link } from 'wouter';
import { changeTasks } from '../api/operations.ts';
import { getHome } from '../api/runs.ts';
import { listFailures } from '../api/failures.ts';
import { numbered, reportBulk } from '../data/bulk.ts';
import { useLive, useLiveList } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { LinkButton } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

const COLUMNS: readonly Column<FailedTask>[] = [
  {
    header: 'Task',
    cell: ({ task_id, name }) => <Link href={`/tasks/${task_id}`}>{name}</Link>,
  },
  { header: 'Reason', grow: true, cell: ({ reason }) => <span title={reason}>{reason}</span> },
  {
    header: 'Run',
    cell: ({ run_id, run_name }) => <Link href={`/runs/${run_id}`}>{run_name ?? run_id.slice(0, 8)}</Link>,
  },
  { header: 'Failed', cell: ({ ended_at }) => <Ago at={ended_at} /> },
];

/** The tasks that failed for one reason, and their retry. */
export function FailurePage() {
  const { fingerprint } = useParams<{ fingerprint: string }>();
  const can = useCan();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { data: home } = useLive(['home'], getHome);
  const group = home?.failing.find((each) => each.fingerprint === fingerprint);
  const list = useLiveList<FailedTask>(['failures', fingerprint], async (after, signal) => {
    const { tasks, next } = await listFailures(fingerprint, after, signal);
    return { rows: tasks, next };
  });
  const retry = async (): Promise<void> => {
    const result = await changeTasks('retry', [...selected]);
    setSelected(new Set());
    await reportBulk('task', 'retried', result);
  };
  return (
    <Page
      title={group?.reason ?? 'Failed for one reason'}
      crumbs={[{ label: 'Home', href: '/' }]}
      lead={group === undefined ? undefined : <FailureLead group={group} />}
      actions={
        <>
          <LinkButton href={`/runs?fingerprint=${fingerprint}`}>Runs</LinkButton>
          {can('operate') && (
            <ConfirmButton
              label={selected.size === 0 ? 'Retry selected' : `Retry ${selected.size} selected`}
              verb="Retry"
              title={`Retry ${numbered(selected.size, 'task')}?`}
              disabled={selected.size === 0}
              onConfirm={retry}
            >
              Each starts another attempt, with the input it had.
            </ConfirmButton>
          )}
        </>
      }
    >
      <ListView
        label="Failed tasks"
        list={list}
        columns={COLUMNS}
        rowId={({ task_id }) => task_id}
        href={({ task_id }) => `/tasks/${task_id}`}
        {...(can('operate') ? { selection: { ids: selected, onChange: setSelected } } : {})}
        empty={<Empty title="No task fails for this reason any more" />}
      />
    </Page>
  );
}

function FailureLead({ group }: { group: { kind: string; tasks: number; first_at: string; last_at: string } }) {
  return (
    <>
      {group.tasks.toLocaleString()} {group.kind} {group.tasks === 1 ? 'task' : 'tasks'} since{' '}
      <Ago at={group.first_at} />, the latest <Ago at={group.last_at} />
    </>
  );
}
