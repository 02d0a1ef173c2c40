import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { CONDITIONAL_KIND } from '../../domain/conditional.ts';
import { isWithinTemplates } from '../notices/task-templates.ts';

/** The one member of an object that stands for the value of an expression. */
export const EXPRESSION_MEMBER = '$expr';
/** Expressions that the input of one task may hold. */
export const EXPRESSIONS_MAX = 32;

/** An expression in an input, with the steps that lead to it. */
export interface InputExpression {
  path: readonly (string | number)[];
  /** Not a text where the submitter wrote something else. */
  text: unknown;
  /** Its object has other members as well, which would be lost. */
  alone: boolean;
}

/** Kinds whose inputs hold expressions as plain texts, and where. */
const PLAIN_EXPRESSIONS: Readonly<Record<string, string>> = { [CONDITIONAL_KIND]: 'when' };

/** The member of a kind's input whose text is an expression. */
export function plainExpressionOf(kind: string): string | null {
  return Object.hasOwn(PLAIN_EXPRESSIONS, kind) ? PLAIN_EXPRESSIONS[kind]! : null;
}

/** All expressions of an input, in its order; most inputs hold none, and that is found out fast. */
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

/** The expressions of an input that `replaceExpressions` asks for the values of, in the order in which it does. */
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
 * The input with every expression replaced by what `evaluate` says of it; those within the templates of notifications stay.
 *
 * @param evaluate told the text and the path of each
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
