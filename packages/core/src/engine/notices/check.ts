import { HeddleError } from '@heddle/base/errors';
import type { WorkflowNotification } from '../../domain/notification/notification.ts';
import { pathOf, placeOf, quoted, type Place } from '@heddle/base/parse/path';
import { suggestName } from '@heddle/base/suggest';
import type { NewNode } from '@heddle/base/vocabulary/workflow';
import { flatten, idOf, isTask, localIdOf } from '../trees/flatten.ts';
import { compileNotification, WORKFLOW_VARIABLES, type PlacedExpression } from './render.ts';

/**
 * Returns the faults of the templates in a workflow's `notify`, each with its path: templates that do not compile and
 * nodes that the workflow does not have.
 */
export function notifyFaults(entries: readonly WorkflowNotification[], root: NewNode): string[] {
  if (entries.length === 0) return [];
  const nodes = flatten(root);
  const names = new Set(nodes.flatMap((node) => localIdOf(node) ?? []));
  // Nodes created by generators may have any name.
  const open = nodes.some((flat) => isTask(flat) && flat.node.generates);
  const known = (name: string): boolean =>
    open || names.has(name) || nodes.some((node) => idOf(node) === name.toLowerCase());
  return entries.flatMap((entry, index) => {
    const compiled = compileNotification(entry, WORKFLOW_VARIABLES, placeOf(placeOf(null, 'notify'), index));
    if (!compiled.ok) return compiled.faults;
    return nodesRead(compiled.notification.expressions)
      .filter(({ name }) => !known(name))
      .map(({ at, name }) => `${pathOf(at)}: ${unknownNode(name, [...names])}`);
  });
}

/** Returns the nodes that templates name, each with its path. */
export function nodesRead(expressions: readonly PlacedExpression[]): { at: Place; name: string }[] {
  return expressions.flatMap(({ at, expression }) =>
    [...(expression.references.get('nodes')?.members.keys() ?? [])].map((name) => ({ at, name })),
  );
}

/** Builds the message for an unknown node, with a suggestion if one is near. */
export function unknownNode(name: string, known: readonly string[]): string {
  const near = suggestName(name, known);
  return `there is no node ${quoted(name)}${near === null ? '' : `; did you mean ${quoted(near)}?`}`;
}

/** @throws HeddleError VALIDATION_FAILED listing every invalid template */
export function requireTemplates(entries: readonly WorkflowNotification[], root: NewNode): void {
  const details = notifyFaults(entries, root);
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
}
