import { isMemoryUsedUp } from './memory-count.ts';

/** Error codes that a task process may return. */
export type ChildCode =
  | 'INVALID_ARGS'
  | 'EXECUTION_FAILED'
  | 'EVENT_UNAVAILABLE'
  | 'RESULT_TOO_LARGE'
  | 'RESULT_NOT_SERIALIZABLE'
  | 'TASK_OOM';

const MESSAGE_CHARACTERS_MAX = 2_000;
export const DETAILS_MAX = 50;
export const DETAIL_CHARACTERS_MAX = 500;

// Captured before event code is loaded, which may replace it.
const RangeErrorOfNode = RangeError;

/** A job that failed. */
export class ChildFailure extends Error {
  readonly code: ChildCode;
  readonly details: readonly string[];

  constructor(code: ChildCode, message: string, details: readonly string[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Converts any thrown value to a failure; never throws. */
export function failureOf(thrown: unknown): ChildFailure {
  if (thrown instanceof ChildFailure) return thrown;
  return new ChildFailure(isOutOfMemory(thrown) ? 'TASK_OOM' : 'EXECUTION_FAILED', messageOf(thrown));
}

/** A failed allocation throws a RangeError, as do other errors; the kernel's memory count distinguishes them. */
function isOutOfMemory(thrown: unknown): boolean {
  try {
    return thrown instanceof RangeErrorOfNode && isMemoryUsedUp();
  } catch {
    return false;
  }
}

export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      const { name, message } = thrown;
      return cut(name === 'Error' ? message : `${name}: ${message}`);
    }
    return cut(String(thrown));
  } catch {
    return 'the thrown value cannot be displayed';
  }
}

/** Truncates a string and makes it safe to pass on: well-formed and without NUL. */
export function cut(text: string, charactersMax = MESSAGE_CHARACTERS_MAX): string {
  const short = text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
  return short.toWellFormed().replaceAll('\0', '\ufffd');
}
