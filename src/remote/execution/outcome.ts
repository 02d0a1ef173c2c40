import { HeddleError } from '../../domain/errors.ts';
import { MAX_JSON_DEPTH, parseStrictJson } from '../../runtime/json/parse.ts';
import type { OutcomeCode } from '../protocol/codes.ts';
import type { TaskProgress } from '../protocol/messages.ts';
import { type ChildCode, cut, DETAIL_CHARACTERS_MAX, DETAILS_MAX } from './child/failure.ts';
import type { MemoryUse } from './control-groups.ts';
import type { JobOutcome } from './port.ts';
import type { Ended } from './starter/starter.ts';
import type { Answer } from './worker-process.ts';

type ErrorOutcome = Extract<JobOutcome, { status: 'error' }>;

/** What a process may say went wrong; everything else is the executor's to say. */
const CHILD_CODES: Readonly<Record<ChildCode, true>> = {
  INVALID_ARGS: true,
  EXECUTION_FAILED: true,
  EVENT_UNAVAILABLE: true,
  RESULT_TOO_LARGE: true,
  RESULT_NOT_SERIALIZABLE: true,
  TASK_OOM: true,
};

/** How Node ends a process that has no memory left, as a signal or as what a shell makes of that. */
const ABORTS: ReadonlySet<string | number | null> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 134, 133, 132]);
/** How it ends now and then instead, as much else does: the memory that it had tells them apart. */
const CRASHES: ReadonlySet<string | number | null> = new Set(['SIGSEGV', 139]);
const ERROR_OUTPUT_SHOWN = 400;

/** What is known of a process beside its answer. */
export interface ProcessTraces {
  /** The beginning and end of its standard error. */
  readonly errorOutput: string;
  /** The kernel ended it for its memory. */
  readonly wasOutOfMemory: boolean;
  readonly memoryUse: MemoryUse;
}

export function failed(code: OutcomeCode, message: string, details: readonly string[] = []): ErrorOutcome {
  return details.length === 0 ? { status: 'error', code, message } : { status: 'error', code, message, details };
}

/** The outcome that an answer stands for; nothing of the answer is believed unchecked. */
export function outcomeOf(answer: Answer, resultBytesMax: number, traces: () => ProcessTraces): JobOutcome {
  switch (answer.kind) {
    case 'result':
      return checkedResult(answer.bytes);
    case 'error':
      return statedError(answer.bytes);
    case 'too large':
      return failed('RESULT_TOO_LARGE', `the result has more than ${resultBytesMax} bytes of JSON`);
    case 'described':
      return brokenRules('an answer to another question');
    case 'breach':
      return brokenRules(answer.reason);
    case 'ended':
      return unexpectedEnd(answer.ended, traces());
  }
}

function brokenRules(reason: string): ErrorOutcome {
  return failed('WORKER_LOST', `the process broke the rules of its channel and was ended: ${reason}`);
}

function checkedResult(bytes: Buffer): JobOutcome {
  try {
    parseStrictJson(bytes, 'result', MAX_JSON_DEPTH, {}, 'floats');
    return { status: 'success', result: bytes };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    return failed(
      'RESULT_NOT_SERIALIZABLE',
      'the result is not JSON that can be passed on',
      error.details.slice(0, 20),
    );
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
    return failed('TASK_OOM', 'the task needed more memory than it may have');
  }
  if (ended.signal === 'SIGXCPU') return failed('TASK_TIMEOUT', 'the task used more processor time than it may');
  // What it wrote to its standard error may name places of the executor: that is for its log, not for the caller.
  return failed('WORKER_LOST', `the process ended without an answer: ${howEnded(ended)}`);
}

/** The end of what a process wrote to its standard error, for the executor's log. */
export function lastWords({ errorOutput }: ProcessTraces): string {
  return errorOutput.trim().slice(-ERROR_OUTPUT_SHOWN).toWellFormed();
}

export function howEnded({ exitCode, signal }: Ended): string {
  return signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
}

/** Progress as a process told it; null where it is none. */
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
