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

/** What Node, V8 and WebAssembly say where the operating system gives no more memory. */
const NO_MEMORY =
  /allocation failed|could not allocate memory|unable to grow instance memory|out of memory|failed to allocate|ENOMEM/i;

/** The failure that a thrown value stands for; whatever was thrown, this does not throw. */
export function failureOf(thrown: unknown): ChildFailure {
  if (thrown instanceof ChildFailure) return thrown;
  const message = messageOf(thrown);
  if (isOutOfMemory(thrown, message)) return new ChildFailure('TASK_OOM', message);
  return new ChildFailure('EXECUTION_FAILED', message);
}

function isOutOfMemory(thrown: unknown, message: string): boolean {
  try {
    if (!(thrown instanceof Error)) return false;
    if ((thrown as NodeJS.ErrnoException).code === 'ERR_MEMORY_ALLOCATION_FAILED') return true;
    return (thrown instanceof RangeError || thrown.name === 'Error') && NO_MEMORY.test(message);
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

export function cut(text: string, charactersMax = MESSAGE_CHARACTERS_MAX): string {
  const short = text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
  return short.toWellFormed();
}
