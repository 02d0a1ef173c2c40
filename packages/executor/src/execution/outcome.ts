import { HeddleError } from '@heddle/base/errors';
import { MAX_JSON_DEPTH, parseStrictJson } from '@heddle/base/json/parse';
import type { OutcomeCode } from '../protocol/codes.ts';
import type { TaskProgress } from '../protocol/messages.ts';
import { type ChildCode, cut, DETAIL_CHARACTERS_MAX, DETAILS_MAX } from './child/failure.ts';
import type { MemoryUse } from './control-groups.ts';
import type { JobOutcome } from './port.ts';
import type { Ended } from './starter/starter.ts';
import type { Answer } from './worker-process.ts';

type ErrorOutcome = Extract<JobOutcome, { status: 'error' }>;

/** Error codes that a process may report; all others are the executor's own. */
const CHILD_CODES: Readonly<Record<ChildCode, true>> = {
  INVALID_ARGS: true,
  EXECUTION_FAILED: true,
  EVENT_UNAVAILABLE: true,
  RESULT_TOO_LARGE: true,
  RESULT_NOT_SERIALIZABLE: true,
  TASK_OOM: true,
};

/** Signals, and the exit codes a shell derives from them, with which Node ends when out of memory. */
const ABORTS: ReadonlySet<string | number | null> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 134, 133, 132]);
/** Out-of-memory endings shared with other crashes; the peak memory distinguishes them. */
const CRASHES: ReadonlySet<string | number | null> = new Set(['SIGSEGV', 139]);
const ERROR_OUTPUT_SHOWN = 400;

/** What is known about a process besides its answer. */
export interface ProcessTraces {
  /** Start and end of its standard error. */
  readonly errorOutput: string;
  /** Whether the kernel killed it for its memory. */
  readonly wasOutOfMemory: boolean;
  readonly memoryUse: MemoryUse;
}

export function failed(code: OutcomeCode, message: string, details: readonly string[] = []): ErrorOutcome {
  return details.length === 0 ? { status: 'error', code, message } : { status: 'error', code, message, details };
}

/** Converts an answer to an outcome; everything in it is validated. */
export function outcomeOf(answer: Answer, resultBytesMax: number, traces: () => ProcessTraces): JobOutcome {
  switch (answer.kind) {
    case 'result':
      return checkedResult(answer.bytes);
    case 'error':
      return statedError(answer.bytes);
    case 'too large':
      return failed('RESULT_TOO_LARGE', `the result is larger than ${resultBytesMax} bytes of JSON`);
    case 'described':
      return brokenRules('an unexpected answer');
    case 'breach':
      return brokenRules(answer.reason);
    case 'ended':
      return unexpectedEnd(answer.ended, traces());
  }
}

function brokenRules(reason: string): ErrorOutcome {
  return failed('WORKER_LOST', `the process violated the protocol of its channel and was killed: ${reason}`);
}

function checkedResult(bytes: Buffer): JobOutcome {
  try {
    parseStrictJson(bytes, 'result', MAX_JSON_DEPTH, {}, 'floats');
    return { status: 'success', result: bytes };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    return failed('RESULT_NOT_SERIALIZABLE', 'the result is not valid JSON', error.details.slice(0, 20));
  }
}

function statedError(bytes: Buffer): JobOutcome {
  let stated: unknown;
  try {
    stated = JSON.parse(bytes.toString());
  } catch {
    return brokenRules('an error that is not JSON');
  }
  const { code, message, details } = (stated ?? {}) as Record<string, unknown>;
  if (typeof code !== 'string' || !Object.hasOwn(CHILD_CODES, code) || typeof message !== 'string') {
    return brokenRules('an error without code or message');
  }
  const texts = Array.isArray(details) ? details.filter((detail) => typeof detail === 'string') : [];
  return failed(
    code as ChildCode,
    cut(message),
    texts.slice(0, DETAILS_MAX).map((detail) => cut(detail, DETAIL_CHARACTERS_MAX)),
  );
}

function unexpectedEnd(ended: Ended, traces: ProcessTraces): JobOutcome {
  const isAbort = ABORTS.has(ended.signal ?? ended.exitCode);
  const isCrash = CRASHES.has(ended.signal ?? ended.exitCode);
  const { wasOutOfMemory, memoryUse } = traces;
  if (wasOutOfMemory || (isAbort && memoryUse !== 'little') || (isCrash && memoryUse === 'much')) {
    return failed('TASK_OOM', 'the task exceeded its memory limit');
  }
  if (ended.signal === 'SIGXCPU') return failed('TASK_TIMEOUT', 'the task exceeded its processor time');
  // Its standard error may contain local paths: it goes to the log, not to the caller.
  return failed('WORKER_LOST', `the process ended without an answer: ${howEnded(ended)}`);
}

/** Returns the end of a process's standard error, for the executor's log. */
export function errorOutputTail({ errorOutput }: ProcessTraces): string {
  return errorOutput.trim().slice(-ERROR_OUTPUT_SHOWN).toWellFormed();
}

export function howEnded({ exitCode, signal }: Ended): string {
  return signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
}

/** Parses progress sent by a process; null if invalid. */
export function progressOf(bytes: Buffer): TaskProgress | null {
  try {
    const { fraction, message } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    const isFraction = typeof fraction === 'number' && fraction >= 0 && fraction <= 1;
    return {
      ...(isFraction ? { fraction } : {}),
      ...(typeof message === 'string' ? { message: cut(message, DETAIL_CHARACTERS_MAX) } : {}),
    };
  } catch {
    return null;
  }
}
