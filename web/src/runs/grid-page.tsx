import type { RunGrid } from '@heddle/client';
import { Link, useSearchParams } from 'wouter';
import { getRunGrid } from '../api/runs.ts';
import { useLive } from '../data/live.ts';
import { formatDuration, formatMoment, parseTime } from '../times.ts';
import { Empty } from '../ui/empty.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { STATE, stateOf } from '../ui/state.ts';
import { Loading } from '../ui/loading.tsx';

/** The runs of one name side by side: a row for each task, a column for each run, and how long they took. */
export function GridPage() {
  const [search] = useSearchParams();
  const name = search.get('name') ?? '';
  const { data, error, dataUpdatedAt } = useLive(['run-grid', name], (signal) => getRunGrid(name, signal));
  return (
    <Page
      title={name}
      crumbs={[
        { label: 'Runs', href: '/runs' },
        { label: 'By name', href: '/runs?by=name' },
      ]}
    >
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined &&
        (data.runs.length === 0 ? <Empty title={`No runs named ${name}`} /> : <Grid grid={data} />)}
    </Page>
  );
}

function Grid({ grid: { runs, tasks, cells, tasks_left_out } }: { grid: RunGrid }) {
  const columns = [...runs.keys()].reverse();
  const longest = Math.max(1, ...runs.map((run) => durationOf(run)));
  return (
    <Section title="Runs and tasks" beside={<span className="quiet">oldest to newest</span>}>
      <div className="table-box">
        <table className="grid" aria-label="Tasks by run">
          <thead>
            <tr>
              <th scope="col">Task</th>
              {columns.map((i) => (
                <th key={runs[i]!.id} scope="col">
                  <GridHead run={runs[i]!} longest={longest} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tasks.map(({ key, name, kind }, row) => (
              <tr key={key}>
                <th scope="row" title={kind}>
                  {name}
                </th>
                {columns.map((i) => (
                  <td key={runs[i]!.id}>
                    <GridCell cell={cells[row]?.[i] ?? null} name={name} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {tasks_left_out > 0 && <p className="quiet">{tasks_left_out.toLocaleString()} more tasks are not shown.</p>}
    </Section>
  );
}

type GridRun = RunGrid['runs'][number];

function durationOf({ created_at, ended_at }: GridRun): number {
  return (parseTime(ended_at) ?? Date.now()) - (parseTime(created_at) ?? Date.now());
}

/** The height of the bar is the duration of the run. */
function GridHead({ run, longest }: { run: GridRun; longest: number }) {
  const state = stateOf(run.state);
  const words = `${STATE[state].label}, ${formatDuration(durationOf(run))}, ${formatMoment(Date.parse(run.created_at))}`;
  return (
    <Link href={`/runs/${run.id}`} className="grid-run" aria-label={words} title={words}>
      <span
        className={`grid-bar fill-${state}`}
        style={{ height: `${Math.max(6, (durationOf(run) / longest) * 100)}%` }}
      />
    </Link>
  );
}

type Cell = RunGrid['cells'][number][number];

function GridCell({ cell, name }: { cell: Cell; name: string }) {
  if (cell === null) return <span className="grid-none" title="not in this run" />;
  const state = stateOf(cell.state);
  const took = cell.duration_ms === null ? '' : `, ${formatDuration(cell.duration_ms)}`;
  const count = cell.count > 1 ? `, ${cell.count} tasks` : '';
  const words = `${name}: ${STATE[state].label}${took}${count}`;
  return (
    <Link href={`/tasks/${cell.task_id}`} aria-label={words} title={words}>
      <StateGlyph state={state} size={18} />
    </Link>
  );
}
