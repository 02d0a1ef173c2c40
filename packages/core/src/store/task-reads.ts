import type { JsonObject } from '@heddle/base/json';
import type {
  Action,
  DedupeMatcher,
  Dependency,
  RetryPolicy,
  Rule,
  Task,
  WorkflowSummary,
} from '@heddle/base/vocabulary/task';
import { settingsOfColumns, TASK_FIELD_NAMES, type SettingColumns } from '@heddle/base/vocabulary/task-fields';
import type { Demand } from '@heddle/base/vocabulary/requirements';
import { taskStateOf, type ContainerState, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { uuidArray } from './transitions.ts';

export const TASK_COLUMNS = `t.id, t.workflow_id, t.local_id, t.name, k.name as kind, t.state, t.attempt, t.metadata,
  ${TASK_FIELD_NAMES.map((name) => `t.${name}`).join(', ')}, t.success_count, t.failure_count, t.open_gates,
  t.reason, t.created_at, t.started_at, t.ended_at, t.updated_at, t.run_at, t.deadline_at, t.archived`;

const GET_TASK: Statement = {
  name: 'tasks.get',
  text: `select ${TASK_COLUMNS}, s.actions, coalesce(r.list, s.rules -> 'list') as rules, s.dedupe, s.retry,
      s.requirements
    from task_all t join kind k on k.id = t.kind_id left join rule_set r on r.id = t.rule_set_id
    left join lateral (
      select actions, rules, dedupe, retry, requirements from task_spec where task_id = t.id
      union all select actions, rules, dedupe, retry, requirements from archive_task_spec where task_id = t.id limit 1) s on true
    where t.id = $1`,
};

const GET_STATES: Statement = {
  name: 'tasks.get_states',
  text: `select id, state from task_all where id = any($1::uuid[])`,
};

const LIST_OF_WORKFLOW: Statement = {
  name: 'tasks.list_of_workflow',
  text: `select ${TASK_COLUMNS} from task_all t join kind k on k.id = t.kind_id where t.workflow_id = $1 order by t.id`,
};

const CHANGED_SINCE: Statement = {
  name: 'tasks.changed_since',
  text: `select ${TASK_COLUMNS} from task_all t join kind k on k.id = t.kind_id
    where t.workflow_id = $1 and t.updated_at >= $2::timestamptz order by t.id`,
};

const LIST_DEPENDENCIES: Statement = {
  name: 'tasks.dependencies',
  text: `select e.parent_id, e.child_id, e.requires_success from task t join edge e on e.child_id = t.id
      where t.workflow_id = $1
    union all
    select e.parent_id, e.child_id, e.requires_success from archive_task t join archive_edge e on e.child_id = t.id
      where t.workflow_id = $1`,
};

export const WORKFLOW_COLUMNS = `w.id, w.name, w.task_count, w.remaining, w.created_at, w.ended_at, w.archived, w.paused,
  case when w.is_tree then (select c.state from container_all c where c.id = w.id) end as root_state`;

const GET_WORKFLOW: Statement = {
  name: 'workflows.get',
  text: `select ${WORKFLOW_COLUMNS} from workflow_all w where w.id = $1`,
};

const COUNT_BY_STATE_OF_WORKFLOW: Statement = {
  name: 'workflows.count_by_state',
  text: `select state, count(*) as n from task_all where workflow_id = $1 group by state`,
};

const NOW: Statement = { name: 'clock.now', text: `select clock_timestamp() as now` };

export interface TaskRecord extends SettingColumns {
  id: string;
  workflow_id: string;
  local_id: string | null;
  name: string;
  kind: string;
  state: number;
  attempt: number;
  metadata: JsonObject;
  success_count: number;
  failure_count: number;
  open_gates: number;
  reason: string | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  updated_at: number;
  run_at: number | null;
  deadline_at: number | null;
  archived: boolean;
}

export interface TaskSpecRecord {
  actions: (Action & { origin?: string })[] | null;
  rules: Rule[] | null;
  dedupe: DedupeMatcher[] | null;
  retry: RetryPolicy | null;
  requirements: StoredDemand | null;
}

/** `on_demand`: it was interrupted on a spot runner, and requests no other. */
export type StoredDemand = Demand & { on_demand?: true };

export function taskOf(row: TaskRecord): Task {
  return {
    id: row.id,
    workflow_id: row.workflow_id,
    local_id: row.local_id,
    name: row.name,
    kind: row.kind,
    state: taskStateOf(row.state),
    attempt: row.attempt,
    ...settingsOfColumns(row),
    metadata: row.metadata,
    success_count: row.success_count,
    failure_count: row.failure_count,
    open_gates: row.open_gates,
    failure_reason: row.reason,
    created_at: row.created_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
    updated_at: row.updated_at,
    run_at: row.run_at,
    deadline_at: row.deadline_at,
    archived: row.archived,
  };
}

export async function findTask(queryable: Queryable, id: string): Promise<(TaskRecord & TaskSpecRecord) | null> {
  return (await queryable.query<TaskRecord & TaskSpecRecord>(GET_TASK, [id]))[0] ?? null;
}

/** Returns the states of those tasks that exist. */
export async function findStates(queryable: Queryable, ids: readonly string[]): Promise<Map<string, TaskState>> {
  const rows = await queryable.query<{ id: string; state: number }>(GET_STATES, [uuidArray(ids)]);
  return new Map(rows.map((row) => [row.id, taskStateOf(row.state)]));
}

export function findTasksOfWorkflow(queryable: Queryable, workflowId: string): Promise<TaskRecord[]> {
  return queryable.query<TaskRecord>(LIST_OF_WORKFLOW, [workflowId]);
}

export function findTasksChangedSince(queryable: Queryable, workflowId: string, since: string): Promise<TaskRecord[]> {
  return queryable.query<TaskRecord>(CHANGED_SINCE, [workflowId, since]);
}

export function findDependencies(queryable: Queryable, workflowId: string): Promise<Dependency[]> {
  return queryable.query<Dependency>(LIST_DEPENDENCIES, [workflowId]);
}

export type WorkflowRecord = Omit<WorkflowSummary, 'root_state'> & { root_state: number | null };

export function workflowOf(row: WorkflowRecord): WorkflowSummary {
  // A container's state is stored with the code of the task state of the same name.
  return { ...row, root_state: row.root_state === null ? null : (taskStateOf(row.root_state) as ContainerState) };
}

export async function findWorkflow(queryable: Queryable, id: string): Promise<WorkflowSummary | null> {
  const [row] = await queryable.query<WorkflowRecord>(GET_WORKFLOW, [id]);
  return row === undefined ? null : workflowOf(row);
}

export async function countStatesOfWorkflow(
  queryable: Queryable,
  id: string,
): Promise<Partial<Record<TaskState, number>>> {
  const rows = await queryable.query<{ state: number; n: number }>(COUNT_BY_STATE_OF_WORKFLOW, [id]);
  return Object.fromEntries(rows.map((row) => [taskStateOf(row.state), row.n]));
}

export async function databaseNow(queryable: Queryable): Promise<number> {
  return (await queryable.query<{ now: number }>(NOW))[0]!.now;
}
