import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { WORKFLOW_WIRE_STATE } from '../../domain/workflow.ts';
import type { Expression } from '../../expression/compile.ts';
import { readCollectionData } from '../../store/collection-data.ts';
import type { Queryable } from '../../store/database.ts';
import { findNamedNodes, type NamedNode } from '../../store/notices.ts';

/**
 * What expressions read of a workflow's nodes and of its data: that, and nothing else, is fetched. Names that stand for
 * nothing are absent.
 */
export async function readVariables(
  queryable: Queryable,
  workflowId: string,
  expressions: readonly Expression[],
): Promise<{ nodes: JsonObject; data: JsonObject }> {
  const [nodes, data] = [
    await findNamedNodes(queryable, workflowId, namesRead(expressions, 'nodes')),
    await readCollectionData(queryable, workflowId, namesRead(expressions, 'data')),
  ];
  return { nodes: Object.fromEntries(nodes.map((node) => [node.local_id, shownNode(node)])), data };
}

function namesRead(expressions: readonly Expression[], variable: string): string[] {
  const names = new Set<string>();
  for (const { references } of expressions) {
    for (const name of references.get(variable)?.members.keys() ?? []) names.add(name);
  }
  return [...names];
}

function shownNode({ state, reason, result, counts }: NamedNode): JsonValue {
  const shown = { state: WORKFLOW_WIRE_STATE[state], reason };
  return counts === null ? { ...shown, result } : { ...shown, counts };
}
