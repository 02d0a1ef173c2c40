import type { Runner } from '@heddle/client';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { pool } from '../api/pool.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { formatDuration, parseTime, useSharedNow } from '../times.ts';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { ListView } from '../ui/list-view.tsx';
import type { Column } from '../ui/table.tsx';
import { Took } from '../ui/time.tsx';
import { RunnerBadge, STATE_LABEL, StateLegend } from './runner-state.tsx';
import { useRunnerTasks } from './runner-tasks.ts';
import type { RunnerTasks } from './runner-tasks.ts';
import { doingOf } from './words.ts';

const { terminated, ...LIVE } = STATE_LABEL;
const STATES: Readonly<Record<string, string>> = { '': 'Not ended', ...LIVE, terminated };

/** The list of runners, with what each does or waits for. */
export function RunnersView() {
  const [{ state, class: resourceClass }, change] = useFilters(['state', 'class']);
  const list = useLiveList<Runner>(['pool', 'runners', state, resourceClass], (page, signal) =>
    pool.runners(state, resourceClass, page, signal),
  );
  const tasks = useRunnerTasks();
  const columns = useMemo(() => columnsOf(tasks), [tasks]);
  const isFiltered = state !== '' || resourceClass !== '';
  return (
    <>
      <FilterBar>
        <ChoiceFilter label="State" value={state} options={STATES} onChange={(value) => change({ state: value })} />
        {resourceClass !== '' && <Button onClick={() => change({ class: '' })}>Only {resourceClass} ✕</Button>}
      </FilterBar>
      <ListView
        label="Runners"
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        href={({ id }) => `/pool/${id}`}
        empty={isFiltered ? <Empty title="No matching runners" /> : <NoRunners />}
      />
      <StateLegend />
    </>
  );
}

function columnsOf(tasks: RunnerTasks): readonly Column<Runner>[] {
  return [
    { header: 'State', cell: (runner) => <RunnerBadge runner={runner} /> },
    {
      header: 'Runner',
      cell: ({ id, number }) => (
        <Link href={`/pool/${id}`} title={id}>
          No. {number}
        </Link>
      ),
    },
    {
      header: 'Class',
      cell: ({ resource_class, usage_class }) => (
        <span>
          {resource_class} <span className="quiet">{usage_class}</span>
        </span>
      ),
    },
    { header: 'Type', optional: true, cell: ({ instance_type }) => instance_type ?? <span className="quiet">–</span> },
    { header: 'Does', grow: true, cell: (runner) => <Doing runner={runner} tasks={tasks} /> },
    { header: 'In state', number: true, cell: ({ state_since }) => <Took from={state_since} to={null} /> },
    { header: 'Age', number: true, optional: true, cell: ({ created_at }) => <Age since={created_at} /> },
  ];
}

function Age({ since }: { since: string }) {
  const now = useSharedNow();
  const at = parseTime(since);
  return at === null ? '–' : formatDuration(now - at);
}

function Doing({ runner, tasks }: { runner: Runner; tasks: RunnerTasks }) {
  const now = useSharedNow();
  const task = runner.request_id === null ? undefined : tasks.get(runner.request_id);
  const words = doingOf(runner, now);
  if (task === undefined) return <span title={words}>{words}</span>;
  return task.taskId === null ? (
    <span>held by {task.name}</span>
  ) : (
    <span>
      {runner.state === 'claimed' ? 'starts' : 'runs'} <Link href={`/tasks/${task.taskId}`}>{task.name}</Link>
    </span>
  );
}

function NoRunners() {
  return (
    <Empty title="No runners" command="heddle pool provision --class large">
      A task with <code>requirements</code> launches a runner when needed. Launch some in advance, or keep them ready
      with <code>HEDDLE_POOL_MIN_IDLE</code>:
    </Empty>
  );
}
