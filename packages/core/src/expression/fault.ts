/** Maximum characters of an expression quoted in an error. */
const SHOWN_CHARS_MAX = 120;
/** Maximum characters of a reason, since values in it may be long. */
const REASON_CHARS_MAX = 300;

/** Expression that cannot be compiled or whose evaluation failed; the message names the position and the expression. */
export class ExpressionError extends Error {
  /** Expression as given. */
  readonly expression: string;
  /** Fault, without position and expression. */
  readonly reason: string;
  /** Offset in characters, if known. */
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

/** Thrown if the shared allowance is used up; with a larger one the expression might have finished. */
export class AllowanceSpentError extends Error {
  constructor() {
    super('the remaining steps are not enough for the expression');
    this.name = 'AllowanceSpentError';
  }
}

/** Formats ` (character 9 of "nodes.a.b")`; a long expression is cut around the position. */
function describePlace(expression: string, offset: number | null): string {
  const at = offset ?? 0;
  const from = expression.length <= SHOWN_CHARS_MAX ? 0 : Math.max(0, at - SHOWN_CHARS_MAX / 2);
  const to = Math.min(expression.length, from + SHOWN_CHARS_MAX);
  const shown = `${from > 0 ? '…' : ''}${expression.slice(from, to)}${to < expression.length ? '…' : ''}`;
  const text = JSON.stringify(shown);
  return offset === null ? ` (in ${text})` : ` (character ${at + 1} of ${text})`;
}

/** Wraps an error of the CEL library as an error that names the expression. */
export function asExpressionError(error: unknown, expression: string): ExpressionError {
  if (error instanceof ExpressionError) return error;
  if (error instanceof RangeError) {
    return new ExpressionError(expression, 'is nested too deeply, or builds a string that is too long', null, error);
  }
  if (!(error instanceof Error)) return new ExpressionError(expression, 'failed', null, error);
  const { summary, range } = error as { summary?: string; range?: { start: number } };
  const reason = (summary ?? error.message.split('\n', 1)[0] ?? '').replaceAll('matches_pattern', 'matches');
  return new ExpressionError(expression, reason, range?.start ?? null, error);
}
