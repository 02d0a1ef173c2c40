import { unknownCursor } from '@heddle/base/errors';
import type { JsonValue } from '@heddle/base/json';
import { TASK_STATE_CODE, taskStateOf, type ContainerState, type TaskState } from '@heddle/base/vocabulary/task-state';
import { modeOf, policyOf, type Container, type TaskResult, type TreeTask } from '@heddle/base/vocabulary/workflow';
import type { Queryable, Statement } from './database.ts';
import { TASK_COLUMNS, taskOf, type TaskRecord } from './task-reads.ts';
import { numberArray, uuidArray } from './transitions.ts';

const CONTAINER_COLUMNS = `c.id, c.workflow_id, c.parent_id, c.local_id, c.position, c.mode, c.policy, c.state,
  c.children, c.open, c.succeeded, c.failed, c.timed_out, c.partially_failed, c.disabled, c.tolerated, c.open_generators,
  c.reason, c.started_at, c.ended_at`;

const PLACE_COLUMNS = `t.container_id, t.position, t.policy, t.generates, t.generator_id,
  coalesce(g.expected, ag.expected) as expected, case when coalesce(g.attempt, ag.attempt) = t.attempt then coalesce(g.created, ag.created) else 0 end as created`;

const PLACE_JOINS = `join kind k on k.id = t.kind_id
  left join generator g on g.task_id = t.id left join archive_generator ag on ag.task_id = t.id`;

/** Inputs may be large, so they are read only if requested. */
const TREE_TASK_COLUMNS = `${TASK_COLUMNS.replace('t.metadata', 'case when $1 then t.metadata else $2::jsonb end as metadata')},
  ${PLACE_COLUMNS}`;

/** Level by level from the root, so that a limit keeps the nodes nearest to it. */
const containersOf = (name: string, relation: string): Statement => ({
  name,
  text: `with recursive tree as (
      select c.*, 0 as level from ${relation} c where c.id = $1
      union all
      select c.*, tree.level + 1 from tree
      join ${relation} c on c.parent_id = tree.id and c.workflow_id = $1
      where $2::integer is null or tree.level < $2)
    select ${CONTAINER_COLUMNS}, c.level from (select * from tree limit $3) c
    order by c.level, c.parent_id, c.position`,
});

const CONTAINERS = containersOf('trees.containers', 'container');
const ARCHIVED_CONTAINERS = containersOf('trees.archived_containers', 'archive_container');

const TASKS: Statement = {
  name: 'trees.tasks',
  text: `select ${TREE_TASK_COLUMNS} from (
      select i.ordinal, s.* from unnest($3::uuid[]) with ordinality i(id, ordinal)
      cross join lateral (
        select t.*, false as archived from task t where t.container_id = i.id order by t.position limit $4) s
      order by i.ordinal, s.position limit $4) t
    ${PLACE_JOINS} order by t.ordinal, t.position`,
};

const ARCHIVED_TASKS: Statement = {
  name: 'trees.archived_tasks',
  text: `select ${TREE_TASK_COLUMNS} from (
      select i.ordinal, t.*, true as archived from unnest($3::uuid[]) with ordinality i(id, ordinal)
      join archive_task t on t.container_id = i.id and t.workflow_id = $5
      order by i.ordinal, t.position limit $4) t
    ${PLACE_JOINS} order by t.ordinal, t.position`,
};

const CHILD_IDS: Statement = {
  name: 'trees.child_ids',
  text: `select c.id, c.position, true as is_container from container_all c
      where c.workflow_id = $1 and c.parent_id = $2 and ($5::smallint[] is null or c.state = any($5))
    union all
    select t.id, t.position, false from task_all t
      where t.workflow_id = $1 and t.container_id = $2 and ($5::smallint[] is null or (t.state + 0) = any($5))
    order by position, id limit $3 offset $4`,
};

const CONTAINERS_BY_ID: Statement = {
  name: 'trees.containers_by_id',
  text: `select ${CONTAINER_COLUMNS} from container_all c where c.workflow_id = $1 and c.id = any($2::uuid[])
    order by c.position`,
};

const TASKS_BY_ID: Statement = {
  name: 'trees.tasks_by_id',
  text: `select ${TREE_TASK_COLUMNS} from task_all t ${PLACE_JOINS} where t.id = any($3::uuid[]) order by t.position`,
};

const TASKS_CHANGED: Statement = {
  name: 'trees.tasks_changed',
  text: `select ${TREE_TASK_COLUMNS} from task_all t ${PLACE_JOINS}
    where t.workflow_id = $3 and t.updated_at >= $4::timestamptz and t.container_id is not null order by t.id`,
};

const ALL_CONTAINERS: Statement = {
  name: 'trees.all_containers',
  text: `select ${CONTAINER_COLUMNS} from container_all c where c.workflow_id = $1 order by c.id`,
};

const COUNT_CONTAINERS: Statement = {
  name: 'trees.count_containers',
  text: `select count(*) as n from (select 1 from container where workflow_id = $1 limit $2) x`,
};

/**
 * A container changes when it starts, when it ends, and when anything below it does. Parents are looked up one by one,
 * since few rows change, whatever the planner estimates.
 */
const CONTAINERS_CHANGED: Statement = {
  name: 'trees.containers_changed',
  text: `with recursive touched as (
      select t.container_id as id from task t
        where t.workflow_id = $1 and t.updated_at >= $2::timestamptz and t.container_id is not null
      union
      select c.id from container c
        where c.workflow_id = $1 and greatest(c.created_at, c.started_at, c.ended_at) >= $2::timestamptz
      union
      select p.parent_id from touched
      cross join lateral (select c.parent_id from container c where c.id = touched.id limit 1) p
      where p.parent_id is not null)
    select ${CONTAINER_COLUMNS} from touched
    cross join lateral (select * from container n where n.id = touched.id limit 1) c order by c.id`,
};

const RESULTS: Statement = {
  name: 'trees.results',
  text: 'select task_id, local_id, state, data, kind from read_results($1, $2, $3, $4)',
};

export interface ContainerRecord {
  id: string;
  workflow_id: string;
  parent_id: string | null;
  local_id: string | null;
  position: number;
  mode: number;
  policy: number;
  state: number;
  children: number;
  open: number;
  succeeded: number;
  failed: number;
  timed_out: number;
  partially_failed: number;
  disabled: number;
  tolerated: number;
  open_generators: number;
  reason: string | null;
  started_at: number | null;
  ended_at: number | null;
}

interface TreeTaskRecord extends TaskRecord {
  container_id: string;
  position: number;
  policy: number;
  generates: boolean;
  generator_id: string | null;
  expected: number | null;
  created: number | null;
}

/** Returns the state of a container's stored code. */
export function containerStateOf(code: number): ContainerState {
  return taskStateOf(code) as ContainerState;
}

function containerOf(row: ContainerRecord): Container {
  return {
    id: row.id,
    workflow_id: row.workflow_id,
    parent_id: row.parent_id,
    local_id: row.local_id,
    position: row.position,
    mode: modeOf(row.mode),
    policy: policyOf(row.policy),
    state: containerStateOf(row.state),
    counts: {
      children: row.children,
      open: row.open,
      succeeded: row.succeeded,
      failed: row.failed,
      timed_out: row.timed_out,
      partially_failed: row.partially_failed,
      disabled: row.disabled,
      tolerated: row.tolerated,
    },
    open_generators: row.open_generators,
    reason: row.reason,
    started_at: row.started_at,
    ended_at: row.ended_at,
  };
}

function treeTaskOf(row: TreeTaskRecord): TreeTask {
  return {
    ...taskOf(row),
    container_id: row.container_id,
    position: row.position,
    policy: policyOf(row.policy),
    generator_id: row.generator_id,
    expansion: row.generates ? { expected: row.expected, created: row.created ?? 0 } : null,
  };
}

const NO_INPUT = '{}';

/** Returns the containers of a tree with their levels, down to a level, at most `limit`; null means unlimited. */
export async function findContainers(
  queryable: Queryable,
  workflow: { id: string; archived: boolean },
  depth: number | null,
  limit: number | null,
): Promise<{ container: Container; level: number }[]> {
  const statement = workflow.archived ? ARCHIVED_CONTAINERS : CONTAINERS;
  const rows = await queryable.query<ContainerRecord & { level: number }>(statement, [workflow.id, depth, limit]);
  return rows.map((row) => ({ container: containerOf(row), level: row.level }));
}

/**
 * Returns tasks of these containers of one workflow, in the containers' order; at most `limit`, null means unlimited.
 */
export async function findTasksOfContainers(
  queryable: Queryable,
  workflow: { id: string; archived: boolean },
  containers: readonly string[],
  inputs: boolean,
  limit: number | null,
): Promise<TreeTask[]> {
  const values = [inputs, NO_INPUT, uuidArray(containers), limit];
  const rows = workflow.archived
    ? await queryable.query<TreeTaskRecord>(ARCHIVED_TASKS, [...values, workflow.id])
    : await queryable.query<TreeTaskRecord>(TASKS, values);
  return rows.map(treeTaskOf);
}

/** Returns ids of a container's children by position: all, or those in one of the states. */
export function findChildIds(
  queryable: Queryable,
  workflowId: string,
  containerId: string,
  { offset, limit, states }: { offset: number; limit: number; states?: readonly TaskState[] },
): Promise<{ id: string; is_container: boolean }[]> {
  const codes = states === undefined ? null : numberArray(states.map((state) => TASK_STATE_CODE[state]));
  return queryable.query(CHILD_IDS, [workflowId, containerId, limit, offset, codes]);
}

/** Returns those of the containers that the workflow has, by position. */
export async function findContainersById(
  queryable: Queryable,
  workflowId: string,
  ids: readonly string[],
): Promise<Container[]> {
  return (await queryable.query<ContainerRecord>(CONTAINERS_BY_ID, [workflowId, uuidArray(ids)])).map(containerOf);
}

/** Returns tasks of trees by id, without their inputs, by position. */
export async function findTreeTasksById(queryable: Queryable, ids: readonly string[]): Promise<TreeTask[]> {
  return (await queryable.query<TreeTaskRecord>(TASKS_BY_ID, [false, NO_INPUT, uuidArray(ids)])).map(treeTaskOf);
}

/** Returns tasks of a tree that changed since a time (RFC 3339), without their inputs. */
export async function findTreeTasksChanged(
  queryable: Queryable,
  workflowId: string,
  since: string,
): Promise<TreeTask[]> {
  return (await queryable.query<TreeTaskRecord>(TASKS_CHANGED, [false, NO_INPUT, workflowId, since])).map(treeTaskOf);
}

/**
 * Returns containers of a live tree that changed since a time (RFC 3339). All of them if the tree has at most `small`,
 * since a retry leaves no timestamp in a container without tasks.
 */
export async function findContainersChanged(
  queryable: Queryable,
  workflowId: string,
  since: string,
  small: number,
): Promise<Container[]> {
  const [counted] = await queryable.query<{ n: number }>(COUNT_CONTAINERS, [workflowId, small + 1]);
  if (counted!.n <= small) return findAllContainers(queryable, workflowId);
  return (await queryable.query<ContainerRecord>(CONTAINERS_CHANGED, [workflowId, since])).map(containerOf);
}

export async function findAllContainers(queryable: Queryable, workflowId: string): Promise<Container[]> {
  return (await queryable.query<ContainerRecord>(ALL_CONTAINERS, [workflowId])).map(containerOf);
}

interface ResultRecord {
  task_id: string;
  local_id: string | null;
  kind: string;
  /** Null in the only row of a page after a task outside of the scope. */
  state: number | null;
  data: JsonValue;
}

/** Scope of results: those of a tree, those below a container, those of nodes before a task. */
export type ResultsOf = 'workflow' | 'below' | 'before';

const RESULT_OF_TASK: Statement = {
  name: 'tasks.result',
  text: `select t.id as task_id, t.local_id, t.state, coalesce(d.data, a.data) as data, k.name as kind
    from task_all t join kind k on k.id = t.kind_id
    left join task_data d on d.task_id = t.id left join archive_task_data a on a.task_id = t.id
    where t.id = $1 and (d.task_id is not null or a.task_id is not null)`,
};

/** Returns the result of one task, of a batch or of a tree; null if it has none. */
export async function findResult(queryable: Queryable, taskId: string): Promise<TaskResult | null> {
  const [row] = await queryable.query<ResultRecord & { state: number }>(RESULT_OF_TASK, [taskId]);
  return row === undefined ? null : { ...row, state: taskStateOf(row.state) };
}

/** Throws INVALID_QUERY if no task of the scope has the id `after`. */
export async function findResults(
  queryable: Queryable,
  scope: ResultsOf,
  id: string,
  after: string | null,
  limit: number,
): Promise<TaskResult[]> {
  const rows = await queryable.query<ResultRecord>(RESULTS, [scope, id, after, limit]);
  return rows.map(({ state, ...row }) => {
    if (state === null) throw unknownCursor('task of these results', row.task_id);
    return { ...row, state: taskStateOf(state) };
  });
}
