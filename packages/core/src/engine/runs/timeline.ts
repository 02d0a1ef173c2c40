import { isTerminal, type TerminalState } from '@heddle/base/vocabulary/task-state';
import { TreeCriticalPath } from '../../domain/runs/critical-path.ts';
import { TimelineFold, type TimelineRow, type TimelineTask } from '../../domain/runs/timeline.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { runOf } from '../../store/run-columns.ts';
import { findRun } from '../../store/run-lists.ts';
import {
  findChain,
  findContainersOfRun,
  findEarlierAttempts,
  findLastTasks,
  streamTasks,
  type AttemptTimes,
  type ContainerOfRun,
  type StreamedTask,
} from '../../store/run-tasks.ts';
import type { Run } from '@heddle/base/vocabulary/run';
import type { TimelineRowWithAttempts, RunTimeline } from './port.ts';

/** Containers of a tree that are read; tasks in others are left out. */
const CONTAINERS_MAX = 20_000;

/** Returns the timeline of a run in one snapshot: of each task where it stands, or the group that it is folded into. */
export function timelineOf(database: Database, id: string): Promise<RunTimeline | null> {
  return database.transaction(
    async (tx) => {
      const row = await findRun(tx, id);
      return row === null ? null : readTimeline(tx, runOf(row));
    },
    { isolation: 'repeatable read', readOnly: true },
  );
}

async function readTimeline(tx: Queryable, run: Run): Promise<RunTimeline> {
  const containers = run.type === 'workflow' ? await findContainersOfRun(tx, run, CONTAINERS_MAX) : [];
  const path = run.ended_at === null ? NO_PATH : await criticalPathOf(tx, run, containers);
  const fold = new TimelineFold(
    containers.map(({ mode, local_id, ...container }) => ({
      ...container,
      name: local_id ?? (mode === 'parallel' ? 'parallel' : 'sequence'),
      critical: path.hasContainer(container.id),
    })),
  );
  let criticalMs = 0;
  for await (const task of streamTasks(tx, run)) {
    const critical = path.has(task);
    if (critical && task.started_at !== null && task.ended_at !== null) criticalMs += task.ended_at - task.started_at;
    fold.add({ ...task, critical, ready_at: readyAt(task) });
  }
  const { rows, left_out } = fold.finish();
  const repeated = rows.filter((row) => row.type === 'task' && row.attempt > 1) as TimelineTask[];
  const earlier = await findEarlierAttempts(tx, repeated);
  return {
    run,
    from: run.created_at,
    until: run.ended_at,
    rows: rows.map((row) => withAttempts(row, earlier)),
    left_out,
    critical_ms: criticalMs,
  };
}

interface CriticalPath {
  has(task: StreamedTask): boolean;
  hasContainer(id: string): boolean;
}

/** What determines the end of a run is known once it has ended. */
const NO_PATH: CriticalPath = { has: () => false, hasContainer: () => false };

async function criticalPathOf(tx: Queryable, run: Run, containers: readonly ContainerOfRun[]): Promise<CriticalPath> {
  if (run.type === 'batch') {
    const chain = await findChain(tx, run);
    return { has: ({ id }) => chain.has(id), hasContainer: () => false };
  }
  const parallel = containers.filter(({ mode }) => mode === 'parallel').map(({ id }) => id);
  const path = new TreeCriticalPath(containers, await findLastTasks(tx, run, parallel));
  return {
    has: ({ id, container_id, started_at }) => path.has({ id, container_id, ran: started_at !== null }),
    hasContainer: (id) => path.containers.has(id),
  };
}

/** When its last attempt was ready; null if it never was. A task that was ready from the start has no such time. */
function readyAt({ state, attempt, run_at, created_at }: StreamedTask): number | null {
  if (state === 'waiting' || (attempt === 0 && isTerminal(state))) return null;
  return run_at ?? created_at;
}

function withAttempts(row: TimelineRow, earlier: ReadonlyMap<string, AttemptTimes[]>): TimelineRowWithAttempts {
  return { ...row, attempts: row.type === 'task' ? [...(earlier.get(row.id) ?? []), ...lastAttempt(row)] : [] };
}

/** A task whose next attempt has not been claimed has no current one. */
function lastAttempt({ state, attempt, claimed_at, started_at, ended_at }: TimelineTask): AttemptTimes[] {
  if (attempt === 0 || state === 'waiting' || state === 'pending') return [];
  const outcome = isTerminal(state) ? (state satisfies TerminalState) : null;
  return [{ attempt, claimed_at, started_at, ended_at, outcome }];
}
