import type { Demand } from '@heddle/base/vocabulary/requirements';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { TaskDetail, WorkflowSummary } from '@heddle/base/vocabulary/task';
import { countDeliveries } from '../store/deliveries.ts';
import { dispatchedKinds } from '../store/manager-reads.ts';
import {
  countEndedTasks,
  countOpenTasks,
  countReadyByLane,
  countRunningByKind,
  type EndedCounts,
  type OpenCounts,
} from '../store/task-gauges.ts';
import { findTasks } from '../store/task-lists.ts';
import * as reads from '../store/task-reads.ts';
import { findWorkflows } from '../store/workflow-lists.ts';
import type { EngineContext } from './context.ts';
import type { Dag, DagChanges, Gauges, TaskFilter, TaskPage, WorkflowFilter, WorkflowPage } from './port.ts';

/** Overlap of a change feed: longer than any transaction may take to commit after it took its timestamp. */
export const CHANGE_OVERLAP_MS = 5_000;

export async function getTask(context: EngineContext, id: string): Promise<TaskDetail | null> {
  const row = await reads.findTask(context.database, id);
  if (row === null) return null;
  return {
    ...reads.taskOf(row),
    actions: (row.actions ?? []).map(({ origin: _origin, ...action }) => action),
    rules: row.rules ?? [],
    dedupe: row.dedupe ?? [],
    retry: row.retry,
    ...(row.requirements === null ? {} : { requirements: demandOf(row.requirements) }),
  };
}

/** As requested. */
export function demandOf({ on_demand: _taken, ...demand }: reads.StoredDemand): Demand {
  return demand;
}

export async function listTasks(context: EngineContext, filter: TaskFilter): Promise<TaskPage> {
  const kindIds = filter.kind === undefined ? null : await context.kinds.idsContaining(filter.kind);
  if (kindIds?.length === 0) return { tasks: [], next: null };
  const { rows, next } = await findTasks(context.database, {
    states: filter.states,
    kindIds,
    name: filter.name,
    workflowId: filter.workflow_id,
    metadata: filter.metadata === undefined ? null : JSON.stringify(filter.metadata),
    after: filter.after,
    limit: filter.limit,
    offset: filter.offset,
  });
  return { tasks: rows.map(reads.taskOf), next };
}

/** Returns a workflow with all its tasks and dependencies, in one snapshot. */
export async function getDag(context: EngineContext, id: string): Promise<Dag | null> {
  return context.database.transaction(
    async (tx) => {
      const workflow = await reads.findWorkflow(tx, id);
      if (workflow === null) return null;
      const rows = await reads.findTasksOfWorkflow(tx, id);
      return { workflow, tasks: rows.map(reads.taskOf), dependencies: await reads.findDependencies(tx, id) };
    },
    { isolation: 'repeatable read', readOnly: true },
  );
}

export async function dagChanges(context: EngineContext, id: string, cursor: number): Promise<DagChanges | null> {
  const started = context.now() === null ? await reads.databaseNow(context.database) : context.clock.now();
  const workflow = await reads.findWorkflow(context.database, id);
  if (workflow === null) return null;
  const next = started - CHANGE_OVERLAP_MS;
  const rows = await reads.findTasksChangedSince(context.database, id, new Date(cursor).toISOString());
  return { tasks: rows.map(reads.taskOf), cursor: next, workflow };
}

export function getWorkflow(context: EngineContext, id: string): Promise<WorkflowSummary | null> {
  return reads.findWorkflow(context.database, id);
}

export function countStates(context: EngineContext, id: string): Promise<Partial<Record<TaskState, number>>> {
  return reads.countStatesOfWorkflow(context.database, id);
}

export async function listWorkflows(context: EngineContext, query: WorkflowFilter): Promise<WorkflowPage> {
  const { open = null, trees = null, root_states: rootStates = null, after = null, limit, offset } = query;
  const { rows, next } = await findWorkflows(context.database, { open, trees, rootStates, after, limit, offset });
  return { workflows: rows, next };
}

export async function gauges(context: EngineContext, kindLimit: number): Promise<Gauges> {
  const { database } = context;
  const open = await countOpenTasks(database);
  const ended = await countEndedTasks(database);
  const running = await countRunningByKind(database, kindLimit);
  const ready = await countReadyByLane(database, kindLimit);
  const deliveries = await countDeliveries(database);
  return {
    by_state: countsByState(open, ended),
    running_by_kind: Object.fromEntries(running.map((row) => [row.kind, row.n])),
    ready_by_lane: Object.fromEntries(ready.map((row) => [row.lane, row.n])),
    queued_kinds: (await dispatchedKinds(database)).slice(0, kindLimit),
    deliveries: { held: 0, due: 0, dead: 0, ...Object.fromEntries(deliveries.map((row) => [row.state, row.n])) },
  };
}

/** Waiting tasks are in no table of their own: they are those that remain. Runs count all failed ones as one. */
function countsByState({ open, ...known }: OpenCounts, ended: EndedCounts): Gauges['by_state'] {
  const notWaiting = Object.values(known).reduce((sum, count) => sum + count, 0);
  const { succeeded, failed, canceled, skipped } = ended;
  const endedByState = { succeeded, failed, timed_out: 0, partially_failed: 0, canceled, disabled: skipped };
  return { waiting: Math.max(0, open - notWaiting), ...known, ...endedByState };
}
