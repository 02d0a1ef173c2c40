import type { BasicTask, Run } from '@heddle/client';
import { useState } from 'react';
import { Link } from 'wouter';
import { listTasks, TASKS_PER_PAGE } from '../api/task-list.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { Empty } from '../ui/empty.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { ListView } from '../ui/list-view.tsx';
import { stateOf } from '../ui/state.ts';
import { StateBadge } from '../ui/state.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Took } from '../ui/time.tsx';
import { TaskSelectionBar } from './task-selection-bar.tsx';

const COLUMNS: readonly Column<BasicTask>[] = [
  { header: 'State', cell: ({ status }) => <StateBadge state={stateOf(status)} /> },
  {
    header: 'Task',
    grow: true,
    cell: ({ id, name }) => <Link href={`/tasks/${id}`}>{name}</Link>,
  },
  { header: 'Kind', cell: ({ kind }) => kind },
  { header: 'Created', optional: true, cell: ({ created_at }) => <Ago at={created_at} /> },
  {
    header: 'Started',
    cell: ({ started_at, ended_at }) => <Ago at={started_at} absent={unstarted(ended_at)} />,
  },
  {
    header: 'Ran',
    number: true,
    cell: ({ started_at, ended_at }) => <Took from={started_at} to={ended_at} absent={unstarted(ended_at)} />,
  },
];

/** What stands for the times of a task that has not started. */
function unstarted(endedAt: string | null): string {
  return endedAt === null ? 'not yet' : 'never';
}

const STATUSES: Readonly<Record<string, string>> = {
  '': 'Any state',
  Failure: 'Failed',
  Running: 'Running',
  Pending: 'Pending',
  Waiting: 'Waiting',
  Paused: 'Paused',
  Success: 'Succeeded',
  Canceled: 'Canceled or skipped',
};

/** The tasks of a run as a list, newest first, with operations on a selection. */
export function RunTasks({ run }: { run: Run }) {
  const [filters, change] = useFilters(['name', 'status', 'kind']);
  const can = useCan();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const list = useLiveList<BasicTask>(['run-tasks', run.id, filters], async (after, signal) => {
    const rows = await listTasks({ batch_id: run.id, ...filters }, after, signal);
    return { rows, next: rows.length < TASKS_PER_PAGE ? null : rows.at(-1)!.id };
  });
  const rows = list.rows ?? [];
  return (
    <div className="view">
      <FilterBar>
        <TextFilter label="Name" value={filters.name} onChange={(name) => change({ name })} main />
        <ChoiceFilter
          label="State"
          value={filters.status}
          options={STATUSES}
          onChange={(status) => change({ status })}
        />
        <TextFilter label="Kind" value={filters.kind} onChange={(kind) => change({ kind })} />
      </FilterBar>
      {selected.size > 0 && (
        <TaskSelectionBar tasks={rows.filter(({ id }) => selected.has(id))} onDone={() => setSelected(new Set())} />
      )}
      <ListView
        label="Tasks"
        list={list}
        columns={COLUMNS}
        rowId={({ id }) => id}
        href={({ id }) => `/tasks/${id}`}
        {...(can('operate') ? { selection: { ids: selected, onChange: setSelected } } : {})}
        empty={<Empty title="No matching tasks" />}
      />
    </div>
  );
}
