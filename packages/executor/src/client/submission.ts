import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import type { PendingResponse, SubmitRequest, SuccessResponse } from '../protocol/messages.ts';
import type { Balance } from './balance.ts';
import { ForgedAnswer, RemoteCallFailure } from './failures.ts';
import type { Link } from './link.ts';
import type { RetryNotice } from './options.ts';
import { encodePayload } from './payload.ts';
import { judge, Stopwatch, waitMs } from './retrying.ts';

export interface SubmissionOptions {
  readonly request: SubmitRequest;
  /** Milliseconds since the epoch, by the local clock, after which the task need not start; null for none. */
  readonly deadlineMs: number | null;
  readonly traceparent: string | null;
  readonly signal: AbortSignal;
  readonly onProgress: ((answer: PendingResponse) => void) | null;
  readonly onRetry: ((retry: RetryNotice) => void) | null;
  readonly balance: Balance;
  readonly clock: Clock;
  readonly random: Random;
  readonly retryWindowMs: number;
}

export interface Submitted {
  readonly link: Link;
  readonly answer: SuccessResponse | PendingResponse;
}

/** Time to wait for a response before the same task is submitted again, which joins the existing one. */
const ANSWER_WITHIN_MS = 60_000;
/** Time for which unreachable or full endpoints are tried. */
const PLACEMENT_TIMEOUT_MS = 15_000;
/** Limit of forged responses, and of requests rejected as expired although the executor's clock is known. */
const DISTRUSTED_MAX = 4;

/**
 * Delivers a submission to exactly one executor: once an endpoint may have received it, no other endpoint is tried, and
 * that one recognizes repeats by their idempotency key.
 */
export class Submission {
  readonly #options: SubmissionOptions;
  readonly #started: Stopwatch;
  /**
   * The endpoint that may have the task, and the payload sent: a different payload with the same key would be rejected.
   */
  #held: { link: Link; payload: Uint8Array; since: Stopwatch } | null = null;
  #current: Link | null = null;
  #distrusted = 0;

  constructor(options: SubmissionOptions) {
    this.#options = options;
    this.#started = new Stopwatch(options.clock);
  }

  /** Returns the endpoint that may have the task; null if none can. */
  get holder(): Link | null {
    return this.#held?.link ?? this.#current;
  }

  /** @throws as Link.call; on abort the signal's reason */
  async run(): Promise<Submitted> {
    const { balance, signal, clock, random, onRetry } = this.#options;
    const passed = new Set<Link>();
    for (let tries = 1; ; tries += 1) {
      const link = this.#held?.link ?? balance.choose(passed);
      try {
        return await this.#try(link);
      } catch (error) {
        signal.throwIfAborted();
        if (!this.#mayTryAgain(error)) throw error;
        passed.add(link);
        const isFresh = this.#held === null && passed.size < balance.size;
        if (!isFresh) {
          passed.clear();
          const ms = waitMs(error, tries, random);
          onRetry?.({ endpoint: link.url, error, waitMs: ms });
          await clock.sleep(ms, signal);
          signal.throwIfAborted();
        }
      }
    }
  }

  async #try(link: Link): Promise<Submitted> {
    const { signal, traceparent, onProgress } = this.#options;
    const payload = this.#held?.payload ?? this.#payloadFor(link);
    this.#current = link;
    const since = new Stopwatch(this.#options.clock);
    try {
      const answer = await link.call({
        method: 'submit',
        payload,
        signal,
        answerWithinMs: ANSWER_WITHIN_MS,
        traceparent,
        ...(onProgress === null ? {} : { onProgress }),
      });
      return { link, answer };
    } catch (error) {
      if (signal.aborted) throw error;
      if (judge(error) === 'again') this.#held ??= { link, payload, since };
      else if (this.#held === null) this.#current = null;
      throw error;
    }
  }

  #payloadFor({ clockOffsetMs }: Link): Uint8Array {
    const { request, deadlineMs } = this.#options;
    // A deadline by an unsynchronized clock could end the task before it starts.
    const deadline = deadlineMs === null || clockOffsetMs === null ? {} : { deadline_ms: deadlineMs + clockOffsetMs };
    return encodePayload({ ...request, ...deadline });
  }

  #mayTryAgain(error: unknown): boolean {
    if (judge(error) === 'final') return false;
    if (error instanceof ForgedAnswer || isExpired(error)) this.#distrusted += 1;
    if (this.#distrusted >= DISTRUSTED_MAX) return false;
    if (this.#held !== null) return this.#held.since.elapsedMs() < this.#options.retryWindowMs;
    return this.#started.elapsedMs() < PLACEMENT_TIMEOUT_MS;
  }
}

function isExpired(error: unknown): boolean {
  return error instanceof RemoteCallFailure && error.code === 'EXPIRED';
}
