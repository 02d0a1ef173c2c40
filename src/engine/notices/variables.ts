import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { WORKFLOW_WIRE_STATE } from '../../domain/workflow.ts';
import { readCollectionData } from '../../store/collection-data.ts';
import type { Queryable } from '../../store/database.ts';
import { findNamedNodes, type NamedNode } from '../../store/notices.ts';
import type { PlacedExpression } from './render.ts';

/** Results, and data, that the templates of one notification may read: many are worked out in one transaction. */
const READ_BYTES_MAX = 8 * 1024 * 1024;

/**
 * What expressions read of a workflow's nodes and of its data: that, and nothing else, is fetched. Names that stand for
 * nothing are absent.
 *
 * @throws Error where that is more than 8 MiB
 */
export async function readVariables(
  queryable: Queryable,
  workflowId: string,
  expressions: readonly PlacedExpression[],
): Promise<{ nodes: JsonObject; data: JsonObject }> {
  const [nodes, data] = [
    await findNamedNodes(queryable, workflowId, namesRead(expressions, 'nodes'), READ_BYTES_MAX),
    await readCollectionData(queryable, workflowId, namesRead(expressions, 'data'), READ_BYTES_MAX),
  ];
  return {
    nodes: Object.fromEntries(nodes.flatMap((node) => namesOf(node).map((name) => [name, shownNode(node)]))),
    data,
  };
}

function namesRead(expressions: readonly PlacedExpression[], variable: string): string[] {
  const names = new Set<string>();
  for (const { expression } of expressions) {
    for (const name of expression.references.get(variable)?.members.keys() ?? []) names.add(name);
  }
  return [...names];
}

/** Nodes are read by the names that their submitter gave them, or by their ids. */
function namesOf({ id, local_id }: NamedNode): string[] {
  return local_id === null ? [id] : [local_id, id];
}

function shownNode({ state, reason, result, counts }: NamedNode): JsonValue {
  const shown = { state: WORKFLOW_WIRE_STATE[state], reason };
  return counts === null ? { ...shown, result } : { ...shown, counts };
}
