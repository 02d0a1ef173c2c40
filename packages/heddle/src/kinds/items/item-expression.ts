import type { JsonValue } from '@heddle/base/json';
import type { Members } from '@heddle/base/parse/members';
import { compileExpression, EXPRESSION_CHARS_MAX, type Expression } from '@heddle/core/expression/compile';
import { SLICE_STEPS } from '@heddle/core/expression/meter';
import { SlicedWork } from '@heddle/base/sliced-work';

/** Variables of expressions over items; documented in docs/core/expressions.md. */
const ITEM_VARIABLES = ['item', 'params', 'now'] as const;

/** An expression over items. */
export interface ItemExpression {
  readonly expression: Expression;
}

/** The names that an expression over items may use. */
export interface ItemNames {
  /** Members that are also available without `item.`. */
  short: readonly string[];
  /** Suggested prefix for any other name. */
  members_of: string;
}

const ANY_ITEM: ItemNames = { short: [], members_of: 'item' };

/** Reads a member that holds an expression over items; returns null if it is absent or invalid. */
export function readItemExpression(
  members: Members,
  name: string,
  { short, members_of }: ItemNames = ANY_ITEM,
): ItemExpression | null {
  const text = members.text(name, EXPRESSION_CHARS_MAX);
  if (text === null) return null;
  const compiled = compileExpression(text, { variables: [...ITEM_VARIABLES, ...short], members_of });
  if (!compiled.ok) {
    members.fault(name, compiled.fault.message);
    return null;
  }
  return { expression: compiled.expression };
}

export interface EvaluationOptions {
  /** The value of `params`. */
  params: JsonValue;
  /** The value of `now`, the same for all items. */
  now: Date;
  signal: AbortSignal;
}

/** Evaluates the expressions of one task over its items, in slices. */
export class ItemEvaluation {
  readonly #options: EvaluationOptions;
  readonly #work = new SlicedWork({ slice_steps: SLICE_STEPS });

  constructor(options: EvaluationOptions) {
    this.#options = options;
  }

  /**
   * @param short members that are available without `item.`
   * @throws ExpressionError
   */
  async valueOf({ expression }: ItemExpression, item: object | JsonValue, short: object = {}): Promise<JsonValue> {
    const { params, now, signal } = this.#options;
    if (this.#work.isSliceOver) await this.#work.nextSlice();
    signal.throwIfAborted();
    return expression.evaluateSliced({ ...short, item, params, now }, this.#work);
  }

  /**
   * Returns whether an item matches.
   *
   * @throws Error if the expression is neither true nor false
   */
  async accepts(where: ItemExpression | null, item: object | JsonValue, short: object = {}): Promise<boolean> {
    if (where === null) return true;
    const verdict = await this.valueOf(where, item, short);
    if (typeof verdict === 'boolean') return verdict;
    throw new Error(`where: must be true or false for every item, not ${JSON.stringify(verdict).slice(0, 60)}`);
  }
}
