import type { JsonObject } from '@heddle/base/json';
import type { Queryable, Statement } from './database.ts';
import { uuidArray } from './transitions.ts';

const FIND_BEFORE: Statement = {
  name: 'flow.find_nodes_before',
  text: `select n, name, id, before from find_nodes_before($1::jsonb)`,
};

const PLACES: Statement = {
  name: 'flow.task_places',
  text: `select t.id, t.workflow_id, t.container_id, t.position, t.starts_by_webhook, t.metadata, k.name as kind
    from task t join kind k on k.id = t.kind_id where t.id = any($1::uuid[]) order by t.id`,
};

/** A task with what decides which expressions its input may hold. */
export interface TaskPlace {
  id: string;
  workflow_id: string;
  /** Null for a task of a batch. */
  container_id: string | null;
  position: number | null;
  kind: string;
  starts_by_webhook: boolean;
  metadata: JsonObject;
}

export function findTaskPlaces(queryable: Queryable, ids: readonly string[]): Promise<TaskPlace[]> {
  return queryable.query(PLACES, [uuidArray(ids)]);
}

/** Names that the expressions of new nodes read, with each node's position in its workflow's tree. */
export interface NamedRead {
  n: number;
  workflow_id: string;
  container_id: string;
  position: number;
  names: readonly string[];
}

export interface FoundNode {
  n: number;
  name: string;
  /** Null if the workflow has no such node, or several. */
  id: string | null;
  /** It precedes the new node. */
  before: boolean;
}

export async function findNodesBefore(queryable: Queryable, reads: readonly NamedRead[]): Promise<FoundNode[]> {
  if (reads.length === 0) return [];
  return queryable.query(FIND_BEFORE, [JSON.stringify(reads)]);
}
