/** Characters of an expression that an error repeats. */
const SHOWN_CHARS_MAX = 120;
/** Characters of a reason; what a value says of itself may be long. */
const REASON_CHARS_MAX = 300;

/** An expression that cannot be compiled or whose evaluation failed; the message names both the place and the expression. */
export class ExpressionError extends Error {
  /** The expression as it was given. */
  readonly expression: string;
  /** What is wrong, without place and expression. */
  readonly reason: string;
  /** Characters before the place, where one is known. */
  readonly offset: number | null;

  constructor(expression: string, reason: string, offset: number | null, cause?: unknown) {
    const short = reason.length > REASON_CHARS_MAX ? `${reason.slice(0, REASON_CHARS_MAX)}…` : reason;
    super(`${short}${describePlace(expression, offset)}`, cause === undefined ? undefined : { cause });
    this.name = 'ExpressionError';
    this.expression = expression;
    this.reason = short;
    this.offset = offset;
  }
}

/** What an evaluation may share with others is used up: with more of it the expression might have come to its end. */
export class AllowanceSpentError extends Error {
  constructor() {
    super('the steps that were left do not suffice for the expression');
    this.name = 'AllowanceSpentError';
  }
}

/** ` (character 9 of "nodes.a.b")`; only the part around the place of an expression that is long. */
function describePlace(expression: string, offset: number | null): string {
  const at = offset ?? 0;
  const from = expression.length <= SHOWN_CHARS_MAX ? 0 : Math.max(0, at - SHOWN_CHARS_MAX / 2);
  const to = Math.min(expression.length, from + SHOWN_CHARS_MAX);
  const shown = `${from > 0 ? '…' : ''}${expression.slice(from, to)}${to < expression.length ? '…' : ''}`;
  const text = JSON.stringify(shown);
  return offset === null ? ` (in ${text})` : ` (character ${at + 1} of ${text})`;
}

/** What the language's library threw, as an error that names the expression. */
export function asExpressionError(error: unknown, expression: string): ExpressionError {
  if (error instanceof ExpressionError) return error;
  if (error instanceof RangeError) {
    return new ExpressionError(expression, 'is nested too deeply, or makes a text that is too long', null, error);
  }
  if (!(error instanceof Error)) return new ExpressionError(expression, 'failed', null, error);
  const { summary, range } = error as { summary?: string; range?: { start: number } };
  const reason = (summary ?? error.message.split('\n', 1)[0] ?? '').replaceAll('matches_pattern', 'matches');
  return new ExpressionError(expression, reason, range?.start ?? null, error);
}
