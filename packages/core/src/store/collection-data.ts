import type { JsonValue } from '@heddle/base/json';
import { taskStateOf } from '@heddle/base/vocabulary/task-state';
import type { TaskResult } from '@heddle/base/vocabulary/workflow';
import type { Queryable, Statement } from './database.ts';

/** A row of the other type under the same name is a conflict; so is one written by a later attempt. */
const PUT: Statement = {
  name: 'collection_data.put',
  text: `insert into task_collection_data as d (workflow_id, name, task_id, attempt, list, data, created_at, updated_at)
    select $1, $2, $3, $4, $5, $6::jsonb, n.now, n.now from (select coalesce($7::timestamptz, clock_timestamp()) as now) n
    where not exists (
      select 1 from task_collection_data o where o.workflow_id = $1 and o.name = $2 and o.task_id <> $3 and o.list <> $5)
    on conflict (workflow_id, name, task_id) do update set attempt = excluded.attempt, list = excluded.list,
      data = excluded.data, updated_at = excluded.updated_at
    where d.attempt <= excluded.attempt
    returning name`,
};

const FIND_NODE: Statement = {
  name: 'collection_data.find_node',
  text: `select id, true as is_container from container_all where workflow_id = $1 and local_id = $2
    union all
    select id, false from task_all where workflow_id = $1 and local_id = $2
    limit 1`,
};

const FIND_RESULT: Statement = {
  name: 'collection_data.find_result',
  text: `select t.id as task_id, t.local_id, t.state, k.name as kind, coalesce(d.data, a.data) as data
    from task_all t join kind k on k.id = t.kind_id
    left join task_data d on d.task_id = t.id left join archive_task_data a on a.task_id = t.id
    where t.id = $1 and (d.task_id is not null or a.task_id is not null)`,
};

export interface CollectionEntry {
  workflow_id: string;
  name: string;
  task_id: string;
  attempt: number;
  /** `data` is part of a list. */
  list: boolean;
  data: JsonValue;
}

/** Stores an entry of a task; a repeat replaces it. Returns false if the name holds data of the other type. */
export async function putCollectionData(
  queryable: Queryable,
  { workflow_id, name, task_id, attempt, list, data }: CollectionEntry,
  now: string | null,
): Promise<boolean> {
  const values = [workflow_id, name, task_id, attempt, list, JSON.stringify(data), now];
  return (await queryable.query(PUT, values)).length > 0;
}

/** Returns the node with this submitter's name; null if there is none. */
export async function findNodeByName(
  queryable: Queryable,
  workflowId: string,
  name: string,
): Promise<{ id: string; is_container: boolean } | null> {
  const [node] = await queryable.query<{ id: string; is_container: boolean }>(FIND_NODE, [workflowId, name]);
  return node ?? null;
}

/** Returns the result of a task; null if it has none. */
export async function findResultOfTask(queryable: Queryable, taskId: string): Promise<TaskResult | null> {
  const [row] = await queryable.query<Omit<TaskResult, 'state'> & { state: number }>(FIND_RESULT, [taskId]);
  return row === undefined ? null : { ...row, state: taskStateOf(row.state) };
}
