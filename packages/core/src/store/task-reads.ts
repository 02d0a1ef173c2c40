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
import { taskStateOf, TASK_STATE_CODE, type ContainerState, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import { numberArray, uuidArray } from './transitions.ts';

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

const LIST_TASKS: Statement = {
  name: 'tasks.list',
  text: `select ${TASK_COLUMNS} from task_all t join kind k on k.id = t.kind_id
    where ($1::smallint[] is null or (t.state + 0) = any($1))
      and ($2::integer[] is null or t.kind_id = any($2))
      and ($3::text is null or position(lower($3) in lower(t.name)) > 0)
      and ($4::uuid is null or t.workflow_id = $4)
      and ($5::jsonb is null or t.metadata @> $5)
    order by t.id desc limit $6 offset $7`,
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

const WORKFLOW_COLUMNS = `w.id, w.name, w.task_count, w.remaining, w.created_at, w.ended_at, w.archived, w.paused,
  case when w.is_tree then (select c.state from container_all c where c.id = w.id) end as root_state`;

const GET_WORKFLOW: Statement = {
  name: 'workflows.get',
  text: `select ${WORKFLOW_COLUMNS} from workflow_all w where w.id = $1`,
};

/** The type of workflow is part of the SQL text, so that trees use their own index however many batches there are. */
const listOf = (name: string, which: string): Statement => ({
  name,
  text: `select ${WORKFLOW_COLUMNS} from (
      select * from workflow_all
      where ${which} and ($1::boolean is null or (ended_at is null) = $1)
        and ($4::smallint[] is null or (select c.state from container_all c where c.id = workflow_all.id) = any($4))
      order by id desc limit $2 offset $3) w
    order by w.id desc`,
});

const LIST_WORKFLOWS = listOf('workflows.list', 'true');
const LIST_TREES = listOf('workflows.list_trees', 'is_tree');
const LIST_BATCHES = listOf('workflows.list_batches', 'not is_tree');

const COUNT_BY_STATE_OF_WORKFLOW: Statement = {
  name: 'workflows.count_by_state',
  text: `select state, count(*) as n from task_all where workflow_id = $1 group by state`,
};

const NOW: Statement = { name: 'clock.now', text: `select clock_timestamp() as now` };

const COUNT_BY_STATE: Statement = {
  name: 'tasks.count_by_state',
  text: `select state, count(*) as n from task group by state`,
};

const COUNT_READY_BY_LANE: Statement = {
  name: 'tasks.count_ready_by_lane',
  text: withCodes(`select case when r.lane = :lane_webhook then 'webhook' when r.lane < :lane_webhook then 'runners' else 'kind:' || k.name end as lane, count(*) as n
    from ready r left join kind k on k.id = r.lane group by 1 order by n desc limit $1`),
};

const COUNT_RUNNING_BY_KIND: Statement = {
  name: 'tasks.count_running_by_kind',
  text: withCodes(`select k.name as kind, count(*) as n
    from (select distinct unnest(task_ids) as id from lease) l
    join task t on t.id = l.id join kind k on k.id = t.kind_id
    where (t.state + 0) in (:claimed, :running, :expanding) group by k.name order by n desc limit $1`),
};

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

export interface TaskQuery {
  states: readonly TaskState[] | undefined;
  kindIds: readonly number[] | null;
  name: string | undefined;
  workflowId: string | undefined;
  metadata: string | null;
  limit: number;
  offset: number;
}

export function findTasks(queryable: Queryable, query: TaskQuery): Promise<TaskRecord[]> {
  return queryable.query<TaskRecord>(LIST_TASKS, [
    query.states === undefined ? null : numberArray(query.states.map((state) => TASK_STATE_CODE[state])),
    query.kindIds === null ? null : numberArray(query.kindIds),
    query.name ?? null,
    query.workflowId ?? null,
    query.metadata,
    query.limit,
    query.offset,
  ]);
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

type WorkflowRecord = Omit<WorkflowSummary, 'root_state'> & { root_state: number | null };

function workflowOf(row: WorkflowRecord): WorkflowSummary {
  // A container's state is stored with the code of the task state of the same name.
  return { ...row, root_state: row.root_state === null ? null : (taskStateOf(row.root_state) as ContainerState) };
}

export async function findWorkflow(queryable: Queryable, id: string): Promise<WorkflowSummary | null> {
  const [row] = await queryable.query<WorkflowRecord>(GET_WORKFLOW, [id]);
  return row === undefined ? null : workflowOf(row);
}

export interface WorkflowQuery {
  /** Only workflows with open tasks, or only those without; null: both. */
  open: boolean | null;
  /** Only trees, or only batches; null: both. */
  trees: boolean | null;
  /** Only trees whose root is in one of these; null: any. */
  rootStates: readonly ContainerState[] | null;
  limit: number;
  offset: number;
}

export async function findWorkflows(queryable: Queryable, query: WorkflowQuery): Promise<WorkflowSummary[]> {
  const states =
    query.rootStates === null ? null : numberArray(query.rootStates.map((state) => TASK_STATE_CODE[state]));
  const values = [query.open, query.limit, query.offset, states];
  const statement = query.trees === null ? LIST_WORKFLOWS : query.trees ? LIST_TREES : LIST_BATCHES;
  return (await queryable.query<WorkflowRecord>(statement, values)).map(workflowOf);
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

export function countTasksByState(queryable: Queryable): Promise<{ state: number; n: number }[]> {
  return queryable.query(COUNT_BY_STATE);
}

export function countReadyByLane(queryable: Queryable, limit: number): Promise<{ lane: string; n: number }[]> {
  return queryable.query(COUNT_READY_BY_LANE, [limit]);
}

export function countRunningByKind(queryable: Queryable, limit: number): Promise<{ kind: string; n: number }[]> {
  return queryable.query(COUNT_RUNNING_BY_KIND, [limit]);
}
