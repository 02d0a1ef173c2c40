import type { JsonValue } from '../../domain/json.ts';
import type { Members } from '../../domain/parse/members.ts';
import { compileExpression, EXPRESSION_CHARS_MAX, type Expression } from '../../expression/compile.ts';
import { SLICE_STEPS } from '../../expression/meter.ts';
import { SlicedWork } from '../../runtime/sliced-work.ts';

/** What expressions over items may read; docs/expressions.md lists the names. */
const ITEM_VARIABLES = ['item', 'params', 'now'] as const;

/** An expression over items. */
export interface ItemExpression {
  readonly expression: Expression;
}

/** What is known of the items that an expression is about. */
export interface ItemNames {
  /** Members that it may read without `item.` before them, too. */
  short: readonly string[];
  /** Where any other name probably belongs. */
  members_of: string;
}

const ANY_ITEM: ItemNames = { short: [], members_of: 'item' };

/** A member that holds an expression over items; null where it is absent, or where a fault was left. */
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
  /** What expressions read as `params`. */
  params: JsonValue;
  /** The moment that all items are seen at. */
  now: Date;
  signal: AbortSignal;
}

/** Evaluates the expressions of one task over its items, slice by slice. */
export class ItemEvaluation {
  readonly #options: EvaluationOptions;
  readonly #work = new SlicedWork({ slice_steps: SLICE_STEPS });

  constructor(options: EvaluationOptions) {
    this.#options = options;
  }

  /**
   * @param short members that are read without `item.`
   * @throws ExpressionError
   */
  async valueOf({ expression }: ItemExpression, item: object | JsonValue, short: object = {}): Promise<JsonValue> {
    const { params, now, signal } = this.#options;
    if (this.#work.isSliceOver) {
      await this.#work.nextSlice();
      signal.throwIfAborted();
    }
    return expression.evaluateSliced({ ...short, item, params, now }, this.#work);
  }

  /**
   * Whether an item is wanted.
   *
   * @throws Error where the expression gives neither true nor false
   */
  async accepts(where: ItemExpression | null, item: object | JsonValue, short: object = {}): Promise<boolean> {
    if (where === null) return true;
    const verdict = await this.valueOf(where, item, short);
    if (typeof verdict === 'boolean') return verdict;
    throw new Error(`where: must say true or false of every item, not ${JSON.stringify(verdict).slice(0, 60)}`);
  }
}
