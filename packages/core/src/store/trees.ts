import type { Queryable, Statement } from './database.ts';
import type { SpecRow, TaskRow } from './submissions.ts';
import { numberArray, uuidArray, type Moved } from './transitions.ts';

const INSERT_TREES: Statement = {
  name: 'trees.insert_workflows',
  text: `select unnest(insert_trees($1::jsonb, $2)) as id`,
};

const PLACE_NODES: Statement = {
  name: 'trees.place_nodes',
  text: `select n, code, workflow_id, container_id, "position", opens, beside, begun, attempt, adopts, detail
    from place_nodes($1::jsonb)`,
};

const ADOPT_NODES: Statement = { name: 'trees.adopt_nodes', text: `select adopt_nodes($1::json)` };

const STORE_NODES: Statement = {
  name: 'trees.store_nodes',
  text: `select store_nodes(row($1::json, $2::json, $3::json, $4::json, $5::json, $6::json, $7::json, $8::uuid[],
    $9::uuid[], $10::integer[])::new_nodes, $11) as moved`,
};

const READ_CREATED: Statement = {
  name: 'trees.read_created',
  text: `select w.id, (extract(epoch from w.created_at) * 1000)::bigint::float8 as created_at, w.task_count,
      (select count(*) from container c where c.workflow_id = w.id)::integer
      + (select count(*) from archive_container c where c.workflow_id = w.id)::integer as container_count
    from workflow_all w where w.id = any($1::uuid[])`,
};

const COMPLETE_GENERATORS: Statement = {
  name: 'trees.complete_generators',
  text: `select complete_generators($1, $2, $3) as moved`,
};

const REEVALUATE: Statement = {
  name: 'trees.reevaluate',
  text: `select reevaluate_workflows($1::uuid[], $2::uuid[], $3) as moved`,
};

/** For a workflow that is a tree. */
export interface TreeRow {
  id: string;
  name: string | null;
  job_run_id: string | null;
  traceparent: string | null;
}

/** A container for store_nodes; `disabled` of its `children` are. */
export interface ContainerRow {
  id: string;
  workflow_id: string;
  parent_id: string | null;
  position: number;
  mode: number;
  policy: number;
  local_id: string | null;
  children: number;
  disabled: number;
  generator_id: string | null;
  generator_attempt: number | null;
}

export interface NodeRows {
  containers: ContainerRow[];
  tasks: TaskRow[];
  specs: SpecRow[];
  /** Existing containers that get children. */
  parents: { id: string; children: number; disabled: number }[];
  /** Tasks added to workflows, `open` of them not ended, and their kinds, at most RUN_KINDS_MAX. */
  counts: { workflow_id: string; tasks: number; open: number; kinds: readonly number[] }[];
  /** Nodes created by generator attempts. */
  generators: { task_id: string; attempt: number; created: number }[];
  container_generators: [generator: string, container: string][];
  touched: string[];
  opened: string[];
  kindIds: readonly number[];
}

/** Stores the workflows that do not exist yet, in the archive either; returns their ids. */
export async function insertTrees(
  queryable: Queryable,
  workflows: readonly TreeRow[],
  now: string | null,
): Promise<Set<string>> {
  const rows = await queryable.query<{ id: string }>(INSERT_TREES, [JSON.stringify(workflows), now]);
  return new Set(rows.map(({ id }) => id));
}

/** Place of a generated node; the codes are explained at place_nodes. */
export interface Placement {
  n: number;
  code: number;
  workflow_id: string | null;
  container_id: string | null;
  position: number | null;
  /** Its container is open and runs its children in parallel. */
  opens: boolean | null;
  /** Its container is not the generator's own. */
  beside: boolean | null;
  /** The generator may start. */
  begun: boolean | null;
  /** The generator's. */
  attempt: number | null;
  /** It exists, and an earlier attempt of the generator created it. */
  adopts: boolean;
  detail: string | null;
}

export function placeNodes(
  queryable: Queryable,
  nodes: readonly { n: number; id: string; generator_id: string; attempt: number | null; parent: string | null }[],
): Promise<Placement[]> {
  return queryable.query(PLACE_NODES, [JSON.stringify(nodes)]);
}

/** Assigns nodes of earlier attempts to these attempts of their generators. */
export async function adoptNodes(
  queryable: Queryable,
  nodes: readonly { id: string; attempt: number }[],
): Promise<void> {
  await queryable.query(ADOPT_NODES, [JSON.stringify(nodes)]);
}

export async function storeNodes(
  queryable: Queryable,
  rows: NodeRows,
  now: string | null,
): Promise<Moved & { now: number }> {
  const some = (list: readonly unknown[]): string | null => (list.length > 0 ? JSON.stringify(list) : null);
  const [row] = await queryable.query<{ moved: Moved & { now: number } }>(STORE_NODES, [
    JSON.stringify(rows.containers),
    JSON.stringify(rows.tasks),
    some(rows.specs),
    some(rows.parents),
    JSON.stringify(rows.counts),
    some(rows.generators),
    some(rows.container_generators),
    uuidArray(rows.touched),
    uuidArray(rows.opened),
    numberArray(rows.kindIds),
    now,
  ]);
  return row!.moved;
}

export interface StoredTree {
  id: string;
  created_at: number;
  task_count: number;
  container_count: number;
}

export function readStoredTrees(queryable: Queryable, ids: readonly string[]): Promise<StoredTree[]> {
  return queryable.query(READ_CREATED, [uuidArray(ids)]);
}

/** Null if no generator has all nodes that it announced. */
export async function completeGenerators(
  queryable: Queryable,
  limit: number,
  jitter: number,
  now: string | null,
): Promise<Moved | null> {
  const [row] = await queryable.query<{ moved: Moved | null }>(COMPLETE_GENERATORS, [limit, jitter, now]);
  return row!.moved;
}

/** Null if nothing had to change. */
export async function reevaluate(
  queryable: Queryable,
  ids: readonly string[],
  tasks: readonly string[] | null,
  now: string | null,
): Promise<Moved | null> {
  const values = [uuidArray(ids), tasks === null ? null : uuidArray(tasks), now];
  const [row] = await queryable.query<{ moved: Moved | null }>(REEVALUATE, values);
  return row!.moved;
}
