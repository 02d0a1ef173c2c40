import type { JsonObject, JsonValue } from '../domain/json.ts';
import { taskStateOf } from '../domain/task-state.ts';
import { WORKFLOW_WIRE_STATE } from '../domain/workflow.ts';
import type { Queryable, Statement } from './database.ts';
import { uuidArray } from './transitions.ts';

const READ_FOR_INPUTS: Statement = {
  name: 'flow.read_for_inputs',
  text: `select what, id, value from read_for_inputs($1::uuid[])`,
};

const FIND_BEFORE: Statement = {
  name: 'flow.find_nodes_before',
  text: `select n, name, id, before from find_nodes_before($1::jsonb)`,
};

/** A node as expressions see it: tasks leave results, containers counts. */
export type ReadNode = { state: string; reason: string | null } & ({ result: JsonValue } | { counts: JsonObject });

/** What the expressions of some tasks read; everything by id. */
export interface InputReads {
  tasks: Map<string, { nodes?: Record<string, string>; data?: string[] }>;
  nodes: Map<string, ReadNode>;
  workflows: Map<string, string | null>;
  /** By workflow: what it holds, by name. */
  data: Map<string, Map<string, JsonValue>>;
}

type ReadRow =
  | { what: 'reads'; id: string; value: { nodes?: Record<string, string>; data?: string[] } }
  | { what: 'workflow'; id: string; value: string | null }
  | { what: 'task'; id: string; value: { state: number; reason: string | null; result: JsonValue } }
  | { what: 'container'; id: string; value: { state: number; reason: string | null; counts: JsonObject } }
  | { what: 'data'; id: string; value: { name: string; list: boolean; data: JsonValue } };

/** Reads, in one statement, all that the expressions in the inputs of these tasks need; each node once. */
export async function readForInputs(queryable: Queryable, taskIds: readonly string[]): Promise<InputReads> {
  const reads: InputReads = { tasks: new Map(), nodes: new Map(), workflows: new Map(), data: new Map() };
  if (taskIds.length === 0) return reads;
  for (const row of await queryable.query<ReadRow>(READ_FOR_INPUTS, [uuidArray(taskIds)])) {
    if (row.what === 'reads') reads.tasks.set(row.id, row.value);
    else if (row.what === 'workflow') reads.workflows.set(row.id, row.value);
    else if (row.what === 'data') addData(reads.data, row.id, row.value);
    else {
      const { state, ...rest } = row.value;
      reads.nodes.set(row.id, { state: WORKFLOW_WIRE_STATE[taskStateOf(state)], ...rest });
    }
  }
  return reads;
}

function addData(
  data: InputReads['data'],
  workflowId: string,
  { name, list, data: value }: { name: string; list: boolean; data: JsonValue },
): void {
  const held = data.get(workflowId) ?? new Map<string, JsonValue>();
  data.set(workflowId, held);
  held.set(name, list ? (value as JsonValue[][]).flat() : value);
}

/** Names that the expressions of new nodes read, with the place of each in its workflow's tree. */
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
  /** Null where the workflow has no such node, or several. */
  id: string | null;
  /** It stands before the new node. */
  before: boolean;
}

export async function findNodesBefore(queryable: Queryable, reads: readonly NamedRead[]): Promise<FoundNode[]> {
  if (reads.length === 0) return [];
  return queryable.query(FIND_BEFORE, [JSON.stringify(reads)]);
}
