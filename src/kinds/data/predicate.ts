import type { JsonValue } from '../../domain/json.ts';
import type { Members } from '../../domain/parse/members.ts';
import { compileExpression, EXPRESSION_CHARS_MAX, type Expression } from '../../expression/compile.ts';

/** What an expression over items may read: the item, and `params` of the task's input. */
const VARIABLES = ['item', 'params', 'now'] as const;

/** Says something of each item. Every expression of a task sees one moment as `now`. */
export interface ItemExpression {
  /** @throws ExpressionError */
  of(item: JsonValue, params: JsonValue, now: Date): JsonValue;
}

/** A member that holds an expression over items; null where it is absent, or where a fault was left. */
export function readItemExpression(members: Members, name: string): ItemExpression | null {
  const text = members.text(name, EXPRESSION_CHARS_MAX);
  if (text === null) return null;
  const compiled = compileExpression(text, { variables: VARIABLES });
  if (!compiled.ok) {
    members.fault(name, compiled.fault.message);
    return null;
  }
  return itemExpression(compiled.expression);
}

function itemExpression(expression: Expression): ItemExpression {
  return { of: (item, params, now) => expression.evaluate({ item, params, now }) };
}

/** Whether an item is wanted. @throws Error where the expression says neither true nor false */
export function accepts(where: ItemExpression | null, item: JsonValue, params: JsonValue, now: Date): boolean {
  if (where === null) return true;
  const verdict = where.of(item, params, now);
  if (typeof verdict === 'boolean') return verdict;
  throw new Error(`where: must say true or false of every item, not ${JSON.stringify(verdict).slice(0, 60)}`);
}
