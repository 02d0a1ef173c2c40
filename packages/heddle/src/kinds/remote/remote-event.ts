import type { JsonObject, JsonValue } from '@heddle/base/json';
import { RemoteFailure, type RemoteCode } from '@heddle/executor/protocol/codes';
import { TransportFailure } from '@heddle/executor/client/port';
import type { TaskProgress } from '@heddle/executor/protocol/messages';
import { defineKind, FinalFailure, type KindContext, type KindDefinition } from '@heddle/kit';
import { endEarlierAttempts, keyOf } from './earlier-attempts.ts';
import type { Executors } from './executors.ts';
import { remoteEventSchema, type RemoteEventInput } from './input.ts';

/** Runs a call within a span of the task's trace, and passes it the W3C trace context to propagate. */
export type Traced = <T>(context: KindContext, run: (traceparent: string | null) => Promise<T>) => Promise<T>;

export interface RemoteEventOptions {
  executors: Executors;
  traced: Traced;
}

export const REMOTE_EVENT_KIND = 'RemoteEvent';

/** Rejections that every further attempt would receive too. */
const FINAL_CODES: ReadonlySet<RemoteCode> = new Set<RemoteCode>([
  'MALFORMED',
  'INVALID_ARGS',
  'EVENT_NOT_WHITELISTED',
  'EVENT_NOT_REGISTERED',
  'FORBIDDEN',
  'QUARANTINED',
]);
const DETAILS_SHOWN = 5;
/** Total of a task's counter, in steps of its event's progress. */
const PROGRESS_STEPS = 100;

/** `RemoteEvent`: sends a task to an executor, whose result becomes the task's result. */
export function remoteEvent(options: RemoteEventOptions): KindDefinition<JsonObject> {
  return defineKind({
    name: REMOTE_EVENT_KIND,
    input: remoteEventSchema,
    timeout_secs: 3600,
    run: (input, context) => runRemotely(input, context, options),
  });
}

async function runRemotely(
  { event_name, args, timeout_secs, executor: name }: RemoteEventInput,
  context: KindContext,
  { executors, traced }: RemoteEventOptions,
): Promise<JsonValue> {
  const { task, signal } = context;
  const executor = executors.find(name);
  if (executor === null) {
    throw new FinalFailure(`there is no executor named ${name ?? ''}; available: ${executors.names.join(', ')}`);
  }
  try {
    const earlier = await endEarlierAttempts(executor, context);
    if (earlier !== null) return earlier.result;
    const counter = new ProgressCounter(context);
    const result = await traced(context, (traceparent) =>
      executor.submit(event_name, args, {
        idempotencyKey: keyOf(task, task.attempt),
        timeoutSecs: timeout_secs ?? task.timeout_secs,
        signal,
        traceparent,
        onProgress: (progress) => counter.take(progress),
        // Delayed: if this worker dies before its report is accepted, the next attempt finds the result.
        acknowledge: 'later',
      }),
    );
    await counter.end();
    return result;
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error);
  }
}

/** Converts the executor's error to the task's failure, with its code and message. */
function failureOf(error: unknown): unknown {
  if (error instanceof TransportFailure) return new Error(`UNREACHABLE: ${error.message}`, { cause: error });
  if (!(error instanceof RemoteFailure)) return error;
  const { code, message, details } = error;
  const shown = details.slice(0, DETAILS_SHOWN).join('; ');
  const reason = `${code}: ${message}${shown === '' ? '' : `: ${shown}`}`;
  return FINAL_CODES.has(code) ? new FinalFailure(reason, { cause: error }) : new Error(reason, { cause: error });
}

/** Counts a fraction as successes out of a hundred, and logs the event's messages. */
class ProgressCounter {
  readonly #context: KindContext;
  #counted = 0;
  #lastReport = '';
  #hasFraction = false;

  constructor(context: KindContext) {
    this.#context = context;
  }

  /** A repeated message is neither news nor a sign of activity. */
  take({ fraction, message = '' }: TaskProgress): void {
    const report = `${fraction ?? ''} ${message}`;
    if (report === this.#lastReport) return;
    this.#lastReport = report;
    const { log, task } = this.#context;
    if (message !== '') log.info({ task_id: task.id, fraction }, `progress of ${task.name}: ${message}`);
    this.#hasFraction ||= fraction !== undefined;
    const reached = Math.floor(Math.min(1, Math.max(0, fraction ?? 0)) * PROGRESS_STEPS);
    void this.#count(Math.max(0, reached - this.#counted));
  }

  async end(): Promise<void> {
    if (this.#hasFraction) await this.#count(PROGRESS_STEPS - this.#counted);
  }

  async #count(steps: number): Promise<void> {
    this.#counted += steps;
    try {
      await this.#context.progress(steps);
    } catch (error) {
      this.#context.log.debug({ err: error }, 'progress report failed');
    }
  }
}
