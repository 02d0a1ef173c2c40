import type { Logger } from '../../runtime/log.ts';
import type { TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { failed, lastWords, outcomeOf, progressOf } from './outcome.ts';
import type { Job, JobHooks, JobOutcome } from './port.ts';
import { cut } from './child/failure.ts';
import type { AnswerHooks } from './worker-process.ts';

/** Progress that a caller is told of at most so often. */
const PROGRESS_EVERY_MS = 50;
const LOG_LINES_MAX = 1_000;
/** The bootstrap cuts fields short, which the event that it runs can undo; of one line, and of all lines of a job. */
const LINE_BYTES_MAX = 64 * 1024;
const LOG_BYTES_MAX = 1024 * 1024;
const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** A process with a job has one of these ends before it answers. */
type Cut = 'TASK_TIMEOUT' | 'CANCELED';

/**
 * Runs one job on a process that is ready: within its time, until it is canceled, or to its answer. The process is ended
 * by this only where it was cut short or cannot be trusted to take another job.
 */
export async function runOn(
  process: TaskProcess,
  job: Job,
  hooks: JobHooks,
  settings: TierSettings,
): Promise<JobOutcome> {
  const { clock, graceMs } = settings;
  const url = await process.urlOf(job.code);
  const state: { cut: Cut | null } = { cut: null };
  const end = (reason: Cut): void => {
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
    return cutOutcome(state.cut, job);
  }
  if ((answer.kind !== 'result' && answer.kind !== 'error') || process.worker.isLost) process.kill();
  if (answer.kind === 'ended') {
    const { correlation_id: id, event_name: event } = job;
    const stderr = lastWords(process.traces());
    settings.log.warn(
      { correlation_id: id, event_name: event, stderr },
      'The process of a task ended without an answer',
    );
  }
  // Only the kernel's count of what it ended needs the process to be over.
  return outcomeOf(answer, result_bytes_max, () => process.traces());
}

function cutOutcome(reason: Cut, job: Job): JobOutcome {
  if (reason === 'CANCELED') return failed('CANCELED', 'the task was canceled');
  return failed('TASK_TIMEOUT', `the task took longer than its ${job.timeout_ms / 1_000} s`);
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

/** A line that an event wrote; what is not one is left out. */
function writeLine(bytes: Buffer, job: Job, log: Logger): void {
  try {
    const { level, message, fields } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    const known = LEVELS.find((name) => name === level) ?? 'info';
    const { correlation_id, event_name } = job;
    log[known]({ correlation_id, event_name, fields }, cut(typeof message === 'string' ? message : ''));
  } catch {
    // It was no line.
  }
}
