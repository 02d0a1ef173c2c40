import { isMemoryUsedUp } from './memory-count.ts';

/** Codes that a process may answer with. */
export type ChildCode =
  | 'INVALID_ARGS'
  | 'EXECUTION_FAILED'
  | 'EVENT_UNAVAILABLE'
  | 'RESULT_TOO_LARGE'
  | 'RESULT_NOT_SERIALIZABLE'
  | 'TASK_OOM';

export const MESSAGE_CHARACTERS_MAX = 2_000;
export const DETAILS_MAX = 50;
export const DETAIL_CHARACTERS_MAX = 500;

// Kept before any code of an event is loaded, which may replace it.
const RangeErrorOfNode = RangeError;

/** Why a job has no result. */
export class ChildFailure extends Error {
  readonly code: ChildCode;
  readonly details: readonly string[];

  constructor(code: ChildCode, message: string, details: readonly string[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The failure that a thrown value stands for; whatever was thrown, this does not throw. */
export function failureOf(thrown: unknown): ChildFailure {
  if (thrown instanceof ChildFailure) return thrown;
  return new ChildFailure(isOutOfMemory(thrown) ? 'TASK_OOM' : 'EXECUTION_FAILED', messageOf(thrown));
}

/** An allocation that is refused throws a RangeError, as much else does: the kernel's count tells them apart. */
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
    return 'what was thrown cannot be shown';
  }
}

/** A text that may be passed on: short, and of whole characters without NUL. */
export function cut(text: string, charactersMax = MESSAGE_CHARACTERS_MAX): string {
  const short = text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
  return short.toWellFormed().replaceAll('\0', '\ufffd');
}
