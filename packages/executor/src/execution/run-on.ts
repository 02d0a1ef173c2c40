import type { Logger } from '@heddle/base/log';
import type { TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { failed, errorOutputTail, outcomeOf, progressOf } from './outcome.ts';
import type { Job, JobHooks, JobOutcome } from './port.ts';
import { cut } from './child/failure.ts';
import type { AnswerHooks } from './worker-process.ts';

/** Minimum interval between progress reports to a caller. */
const PROGRESS_EVERY_MS = 50;
const LOG_LINES_MAX = 1_000;
/** Limits of one log line and of all lines of a job; the bootstrap truncates as well, but an event could undo that. */
const LINE_BYTES_MAX = 64 * 1024;
const LOG_BYTES_MAX = 1024 * 1024;
const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Reason for ending a process before it answers. */
type Interruption = 'TASK_TIMEOUT' | 'CANCELED';

/**
 * Runs one job on a ready process until it answers, times out or is canceled. Kills the process only if it was
 * interrupted or cannot be trusted with another job.
 */
export async function runOn(
  process: TaskProcess,
  job: Job,
  hooks: JobHooks,
  settings: TierSettings,
): Promise<JobOutcome> {
  const { clock, graceMs } = settings;
  const url = await process.urlOf(job.code);
  const state: { cut: Interruption | null } = { cut: null };
  const end = (reason: Interruption): void => {
    if (state.cut !== null) return;
    state.cut = reason;
    process.worker.abort();
    clock.after(graceMs, () => process.kill());
  };
  const onAbort = (): void => end('CANCELED');
  hooks.signal.addEventListener('abort', onAbort, { once: true });
  if (hooks.signal.aborted) end('CANCELED');
  const cancelDeadline = clock.after(job.timeout_ms, () => end('TASK_TIMEOUT'));
  hooks.onStart();
  const { event_name, correlation_id, traceparent, result_bytes_max } = job;
  const header = { url, event_name, correlation_id, traceparent, result_bytes_max };
  const answer = await process.worker.dispatch(header, job.args, answerHooks(job, hooks, settings));
  cancelDeadline();
  hooks.signal.removeEventListener('abort', onAbort);
  if (state.cut !== null) {
    process.kill();
    return interruptedOutcome(state.cut, job);
  }
  if ((answer.kind !== 'result' && answer.kind !== 'error') || process.worker.isLost) process.kill();
  if (answer.kind === 'ended') {
    const { correlation_id: id, event_name: event } = job;
    const stderr = errorOutputTail(process.traces());
    settings.log.warn({ correlation_id: id, event_name: event, stderr }, 'task process ended without an answer');
  }
  // Traces are read only if needed, because the kernel's count requires an ended process.
  return outcomeOf(answer, result_bytes_max, () => process.traces());
}

function interruptedOutcome(reason: Interruption, job: Job): JobOutcome {
  if (reason === 'CANCELED') return failed('CANCELED', 'the task was canceled');
  return failed('TASK_TIMEOUT', `the task exceeded its timeout of ${job.timeout_ms / 1_000} s`);
}

function answerHooks(job: Job, hooks: JobHooks, { clock, log }: TierSettings): AnswerHooks {
  let lastProgress = -Infinity;
  let lines = 0;
  let logBytes = 0;
  return {
    onProgress: (bytes) => {
      const at = clock.monotonic();
      if (at - lastProgress < PROGRESS_EVERY_MS) return;
      lastProgress = at;
      const progress = progressOf(bytes);
      if (progress !== null) hooks.onProgress(progress);
    },
    onLog: (bytes) => {
      lines += 1;
      if (lines > LOG_LINES_MAX || bytes.length > LINE_BYTES_MAX) return;
      logBytes += bytes.length;
      if (logBytes <= LOG_BYTES_MAX) writeLine(bytes, job, log);
    },
  };
}

/** Writes a log line of an event; invalid lines are dropped. */
function writeLine(bytes: Buffer, job: Job, log: Logger): void {
  try {
    const { level, message, fields } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    const known = LEVELS.find((name) => name === level) ?? 'info';
    const { correlation_id, event_name } = job;
    log[known]({ correlation_id, event_name, fields }, cut(typeof message === 'string' ? message : ''));
  } catch {
    // The line was invalid.
  }
}
