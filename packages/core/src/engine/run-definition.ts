import { isUuid } from '@heddle/base/ids';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { NewDependency, NewTask } from '@heddle/base/vocabulary/task';
import { settingsOfColumns } from '@heddle/base/vocabulary/task-fields';
import {
  modeOf,
  policyOf,
  type NewContainerNode,
  type NewNode,
  type NewTaskNode,
} from '@heddle/base/vocabulary/workflow';
import {
  readBatchRows,
  readNotifyEntries,
  readTreeRows,
  type DefinedContainerRow,
  type DefinedEdgeRow,
  type DefinedTaskRow,
} from '../store/definition-reads.ts';
import { findWorkflow } from '../store/task-reads.ts';
import type { EngineContext } from './context.ts';
import type { RunDefinition } from './port.ts';
import { demandOf } from './read.ts';
import { flatten, idOf, localIdOf } from './trees/flatten.ts';

/**
 * Returns what was submitted as a run, from its rows; null if there is no such run. Inputs are the current ones, and
 * nodes of generators are left out, since a generator creates them again.
 */
export function getDefinition(context: EngineContext, id: string): Promise<RunDefinition | null> {
  return context.database.transaction(
    async (tx) => {
      const workflow = await findWorkflow(tx, id);
      if (workflow === null) return null;
      const { name, archived } = workflow;
      if (workflow.root_state === null) {
        const { tasks, edges, outside } = await readBatchRows(tx, { id, archived });
        const left_out = { generated_tasks: 0, dependencies: outside };
        return { type: 'batch', name, tasks: batchOf(tasks, edges), left_out };
      }
      const { containers, tasks } = await readTreeRows(tx, { id, archived });
      const notify = await readNotifyEntries(tx, id);
      const left_out = { generated_tasks: workflow.task_count - tasks.length, dependencies: 0 };
      return { type: 'workflow', name, root: namedTree(treeOf(id, containers, tasks)), notify, left_out };
    },
    { isolation: 'repeatable read', readOnly: true },
  );
}

function batchOf(rows: readonly DefinedTaskRow[], edges: readonly DefinedEdgeRow[]): NewTask[] {
  const indexOf = new Map(rows.map(({ id }, index) => [id, index]));
  const dependencies = new Map<string, NewDependency[]>();
  for (const { parent_id, child_id, requires_success } of edges) {
    const index = indexOf.get(parent_id);
    if (index === undefined) continue;
    const known = dependencies.get(child_id);
    if (known === undefined) dependencies.set(child_id, [{ index, requires_success }]);
    else known.push({ index, requires_success });
  }
  return rows.map((row) => ({
    ...taskOf(row),
    ...(row.policy === 0 ? {} : { policy: policyOf(row.policy) }),
    dependencies: dependencies.get(row.id) ?? [],
  }));
}

function treeOf(
  id: string,
  containers: readonly DefinedContainerRow[],
  tasks: readonly DefinedTaskRow[],
): NewContainerNode {
  const children = new Map<string, { position: number; node: NewNode }[]>();
  const put = (parent: string, position: number, node: NewNode): void => {
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [{ position, node }]);
    else siblings.push({ position, node });
  };
  const nodes = containers.map((row): NewContainerNode & { children: NewNode[] } => {
    const { mode, policy, local_id } = row;
    const node = { type: 'container' as const, id: row.id, local_id, mode: modeOf(mode), policy: policyOf(policy) };
    return { ...node, children: [] };
  });
  for (const [index, { parent_id, position }] of containers.entries()) {
    if (parent_id !== null) put(parent_id, position, nodes[index]!);
  }
  for (const row of tasks) put(row.container_id!, row.position!, taskNodeOf(row));
  for (const node of nodes) {
    const siblings = children.get(node.id) ?? [];
    siblings.sort((one, other) => one.position - other.position);
    for (const { node: child } of siblings) node.children.push(child);
  }
  return nodes.find((node) => node.id === id)!;
}

function taskNodeOf(row: DefinedTaskRow): NewTaskNode {
  const { policy, disabled, generates } = row;
  return { type: 'task', policy: policyOf(policy), disabled, generates, task: taskOf(row) };
}

/** A delay counts from a submission, and is not stored. */
function taskOf(row: DefinedTaskRow): NewTask {
  return {
    id: row.id,
    local_id: row.local_id,
    name: row.name,
    kind: row.kind,
    ...settingsOfColumns(row),
    delay_ms: 0,
    metadata: row.metadata,
    actions: (row.actions ?? []).map(({ origin: _origin, ...action }) => action),
    rules: row.rules ?? [],
    dedupe: row.dedupe ?? [],
    retry: row.retry,
    ...(row.requirements === null ? {} : { requirements: demandOf(row.requirements) }),
    dependencies: [],
  };
}

const UUIDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/**
 * Replaces the ids of nodes in inputs by their names: another run has other ids. A node that is only known by its id
 * gets a name.
 */
function namedTree(root: NewContainerNode): NewContainerNode {
  const list = flatten(root);
  const nameOf = new Map(list.map((flat) => [idOf(flat), localIdOf(flat)]));
  const taken = new Set([...nameOf.values()].filter((name) => name !== null));
  const referred = new Set<string>();
  for (const { node } of list) {
    if (node.type === 'container') continue;
    for (const [id] of JSON.stringify(node.task.metadata).matchAll(UUIDS)) {
      if (nameOf.has(id.toLowerCase())) referred.add(id.toLowerCase());
    }
  }
  if (referred.size === 0) return root;
  for (const [index, flat] of list.entries()) {
    const id = idOf(flat);
    if (!referred.has(id) || nameOf.get(id) !== null) continue;
    let name = `node-${index + 1}`;
    while (taken.has(name)) name += '-';
    taken.add(name);
    nameOf.set(id, name);
  }
  const rename = (value: JsonValue): JsonValue => replaceIds(value, (id) => nameOf.get(id.toLowerCase()) ?? id);
  for (const { node } of list) {
    if (node.type === 'container') node.local_id = nameOf.get(node.id)!;
    else {
      node.task.local_id = nameOf.get(node.task.id)!;
      node.task.metadata = rename(node.task.metadata) as JsonObject;
    }
  }
  return root;
}

function replaceIds(value: JsonValue, nameOf: (id: string) => string): JsonValue {
  if (typeof value === 'string') return isUuid(value) ? nameOf(value) : value.replace(UUIDS, nameOf);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => replaceIds(element, nameOf));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaceIds(member, nameOf)]));
}
