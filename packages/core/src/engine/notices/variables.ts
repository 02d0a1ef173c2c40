import type { JsonObject } from '@heddle/base/json';
import type { Queryable } from '../../store/database.ts';
import { readForTemplates, type TemplateReads, type Upstream } from '../../store/upstream.ts';
import { excessReason } from '../flow/excess.ts';
import type { PlacedExpression } from './render.ts';

/** Data that the expressions of one notification read from a workflow; null if they read none. */
export function readsOf(workflowId: string, expressions: readonly PlacedExpression[]): TemplateReads | null {
  const names = namesRead(expressions, 'nodes');
  const data = namesRead(expressions, 'data');
  return names.length === 0 && data.length === 0 ? null : { workflow_id: workflowId, names, data };
}

/**
 * Converts the data read to variables of templates.
 *
 * @param upstream null if nothing was requested
 * @throws Error if it exceeds 8 MiB
 */
export function variablesOf(upstream: Upstream | null): { nodes: JsonObject; data: JsonObject } {
  if (upstream === null) return { nodes: {}, data: {} };
  const { nodes, data, excess } = upstream;
  if (excess !== null) throw new Error(excessReason(excess));
  return { nodes, data };
}

/**
 * Fetches the variables of one notification: only what its expressions name. Names that do not exist are absent.
 *
 * @throws Error if they exceed 8 MiB
 */
export async function readVariables(
  queryable: Queryable,
  workflowId: string,
  expressions: readonly PlacedExpression[],
): Promise<{ nodes: JsonObject; data: JsonObject }> {
  const reads = readsOf(workflowId, expressions);
  return variablesOf(reads === null ? null : await readForTemplates(queryable, [reads]).next());
}

function namesRead(expressions: readonly PlacedExpression[], variable: string): string[] {
  const names = new Set<string>();
  for (const { expression } of expressions) {
    for (const name of expression.references.get(variable)?.members.keys() ?? []) names.add(name);
  }
  return [...names];
}
