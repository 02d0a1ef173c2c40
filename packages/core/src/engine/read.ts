import type { Demand } from '@heddle/base/vocabulary/requirements';
import { TASK_STATES, taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Task, TaskDetail, WorkflowSummary } from '@heddle/base/vocabulary/task';
import { countDeliveries } from '../store/deliveries.ts';
import { dispatchedKinds } from '../store/manager-reads.ts';
import * as reads from '../store/task-reads.ts';
import type { EngineContext } from './context.ts';
import type { Dag, DagChanges, Gauges, TaskFilter, WorkflowPage } from './port.ts';

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

export async function listTasks(context: EngineContext, filter: TaskFilter): Promise<Task[]> {
  const kindIds = filter.kind === undefined ? null : await context.kinds.idsContaining(filter.kind);
  if (kindIds?.length === 0) return [];
  const rows = await reads.findTasks(context.database, {
    states: filter.states,
    kindIds,
    name: filter.name,
    workflowId: filter.workflow_id,
    metadata: filter.metadata === undefined ? null : JSON.stringify(filter.metadata),
    limit: filter.limit,
    offset: filter.offset,
  });
  return rows.map(reads.taskOf);
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

export function listWorkflows(context: EngineContext, page: WorkflowPage): Promise<WorkflowSummary[]> {
  const { open = null, trees = null, root_states: rootStates = null, limit, offset } = page;
  return reads.findWorkflows(context.database, { open, trees, rootStates, limit, offset });
}

export async function gauges(context: EngineContext, kindLimit: number): Promise<Gauges> {
  const byState = Object.fromEntries(TASK_STATES.map((state) => [state, 0])) as Record<TaskState, number>;
  for (const row of await reads.countTasksByState(context.database)) byState[taskStateOf(row.state)] = row.n;
  const running = await reads.countRunningByKind(context.database, kindLimit);
  const ready = await reads.countReadyByLane(context.database, kindLimit);
  const deliveries = await countDeliveries(context.database);
  return {
    by_state: byState,
    running_by_kind: Object.fromEntries(running.map((row) => [row.kind, row.n])),
    ready_by_lane: Object.fromEntries(ready.map((row) => [row.lane, row.n])),
    queued_kinds: (await dispatchedKinds(context.database)).slice(0, kindLimit),
    deliveries: { held: 0, due: 0, dead: 0, ...Object.fromEntries(deliveries.map((row) => [row.state, row.n])) },
  };
}
