import type { JsonObject, JsonValue } from '@heddle/base/json';
import { CONDITIONAL_KIND } from '../../domain/conditional.ts';
import { isWithinTemplates } from '../notices/task-templates.ts';

/** Single member of an object that is replaced by the value of its expression. */
export const EXPRESSION_MEMBER = '$expr';
/** Maximum number of expressions in the input of one task. */
export const EXPRESSIONS_MAX = 32;

/** Expression in an input, with its path. */
export interface InputExpression {
  path: readonly (string | number)[];
  /** Not a string if the submitter wrote something else. */
  text: unknown;
  /** True if its object has other members, which would be lost. */
  alone: boolean;
}

/** Kinds whose inputs hold expressions as plain strings, and where. */
const PLAIN_EXPRESSIONS: Readonly<Record<string, string>> = { [CONDITIONAL_KIND]: 'when' };

/** Member of a kind's input that is an expression. */
function plainExpressionOf(kind: string): string | null {
  return Object.hasOwn(PLAIN_EXPRESSIONS, kind) ? PLAIN_EXPRESSIONS[kind]! : null;
}

/** Returns all expressions of an input in order; most inputs hold none, which is detected quickly. */
export function expressionsOf(kind: string, input: JsonObject): InputExpression[] {
  const found: InputExpression[] = [];
  const plain = plainExpressionOf(kind);
  if (plain !== null && typeof input[plain] === 'string') {
    found.push({ path: [plain], text: input[plain], alone: true });
  }
  collect(input, [], found);
  return found;
}

function collect(value: JsonValue, path: readonly (string | number)[], found: InputExpression[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      if (typeof element === 'object' && element !== null) collect(element, [...path, index], found);
    }
    return;
  }
  if (Object.hasOwn(value, EXPRESSION_MEMBER)) {
    const alone = Object.keys(value).length === 1;
    found.push({ path: [...path, EXPRESSION_MEMBER], text: value[EXPRESSION_MEMBER], alone });
    return;
  }
  for (const name in value) {
    const member = value[name];
    if (typeof member === 'object') collect(member, [...path, name], found);
  }
}

/** Returns the expressions of an input that `replaceExpressions` evaluates, in the same order. */
export function replacedExpressions(
  kind: string,
  input: JsonObject,
): { text: string; path: readonly (string | number)[] }[] {
  const found: { text: string; path: readonly (string | number)[] }[] = [];
  replaceExpressions(kind, input, (text, path) => {
    found.push({ text, path });
    return null;
  });
  return found;
}

/**
 * Replaces every expression of the input by the result of `evaluate`, except in templates of notifications.
 *
 * @param evaluate receives the source and the path of each expression
 */
export function replaceExpressions(
  kind: string,
  input: JsonObject,
  evaluate: (text: string, path: readonly (string | number)[]) => JsonValue,
): JsonObject {
  const plain = plainExpressionOf(kind);
  const valueOf = (text: string, path: readonly (string | number)[]): JsonValue =>
    isWithinTemplates(kind, path) ? { [EXPRESSION_MEMBER]: text } : evaluate(text, path);
  const replaced = Object.entries(input).map(([name, member]): [string, JsonValue] => {
    const isPlain = name === plain && typeof member === 'string';
    return [name, isPlain ? evaluate(member, [name]) : replace(member, [name], valueOf)];
  });
  return Object.fromEntries(replaced);
}

function replace(
  value: JsonValue,
  path: readonly (string | number)[],
  evaluate: (text: string, path: readonly (string | number)[]) => JsonValue,
): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element, index) => replace(element, [...path, index], evaluate));
  const text = Object.hasOwn(value, EXPRESSION_MEMBER) ? value[EXPRESSION_MEMBER] : undefined;
  if (typeof text === 'string') return evaluate(text, [...path, EXPRESSION_MEMBER]);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, replace(member, [...path, name], evaluate)]),
  );
}
