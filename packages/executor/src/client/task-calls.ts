import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { OUTCOME_CODES, type RemoteCode } from '../protocol/codes.ts';
import type { CancelRequest, PendingResponse, SuccessResponse } from '../protocol/messages.ts';
import { ForgedAnswer, RemoteCallFailure } from './failures.ts';
import type { Link } from './link.ts';
import type { CancelAnswer, RetryNotice, TaskAnswer } from './options.ts';
import { encodePayload } from './payload.ts';
import { TransportFailure } from './port.ts';
import { isFixedBySigning, Stopwatch, waitMs } from './retrying.ts';

export interface PollOptions {
  readonly signal: AbortSignal;
  readonly waitSecs: number;
}

/** Longest `wait_secs` of a poll. */
const WAIT_SECS_MAX = 30;
const ANSWER_WITHIN_MS = 15_000;
/** Poll interval for progress on protocols that do not push it. */
const PROGRESS_EVERY_SECS = 1;

export function poll(link: Link, correlation_id: string, { signal, waitSecs }: PollOptions): Promise<TaskAnswer> {
  const payload = encodePayload({ correlation_id, ...(waitSecs === 0 ? {} : { wait_secs: waitSecs }) });
  const answerWithinMs = ANSWER_WITHIN_MS + waitSecs * 1000;
  return link.call({ method: 'poll', payload, signal, answerWithinMs });
}

/**
 * Cancels a task and returns its state. @throws RemoteCallFailure NOT_FOUND and other failures that are not outcomes
 */
export async function cancel(link: Link, request: CancelRequest, signal: AbortSignal): Promise<CancelAnswer> {
  const payload = encodePayload(request);
  try {
    const answer = await link.call({ method: 'cancel', payload, signal, answerWithinMs: ANSWER_WITHIN_MS });
    const { correlation_id: correlationId } = answer;
    if (answer.status !== 'success') return { state: 'canceling', correlationId };
    return { state: 'succeeded', correlationId, result: answer.result };
  } catch (error) {
    if (!isOutcome(error)) throw error;
    const { correlationId } = error;
    return error.code === 'CANCELED'
      ? { state: 'canceled', correlationId }
      : { state: 'failed', correlationId, failure: error };
  }
}

/** Returns whether an error is a task's outcome rather than a failed call. */
export function isOutcome(error: unknown): error is RemoteCallFailure & { correlationId: string } {
  if (!(error instanceof RemoteCallFailure) || error.correlationId === null) return false;
  return (OUTCOME_CODES as readonly RemoteCode[]).includes(error.code);
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  /** Time for which the executor may be unreachable. */
  readonly retryWindowMs: number;
  readonly onProgress: ((answer: PendingResponse) => void) | null;
  readonly onRetry: ((retry: RetryNotice) => void) | null;
}

/** Waits for the end of a task; polls again while the executor is unreachable. */
export async function follow(link: Link, correlationId: string, options: FollowOptions): Promise<SuccessResponse> {
  const { signal, clock, random, onProgress, onRetry, retryWindowMs } = options;
  const waitSecs = onProgress === null ? WAIT_SECS_MAX : PROGRESS_EVERY_SECS;
  let outage: { since: Stopwatch; tries: number } | null = null;
  for (;;) {
    try {
      const answer = await poll(link, correlationId, { signal, waitSecs });
      if (answer.status === 'success') return answer;
      outage = null;
      onProgress?.(answer);
    } catch (error) {
      signal.throwIfAborted();
      if (!mayAskAgain(error)) throw error;
      outage ??= { since: new Stopwatch(clock), tries: 0 };
      if (outage.since.elapsedMs() >= retryWindowMs) throw error;
      outage.tries += 1;
      const ms = waitMs(error, outage.tries, random);
      onRetry?.({ endpoint: link.url, error, waitMs: ms });
      await clock.sleep(ms, signal);
      signal.throwIfAborted();
    }
  }
}

function mayAskAgain(error: unknown): boolean {
  if (error instanceof TransportFailure || error instanceof ForgedAnswer) return true;
  // Polls are idempotent, so copies do no harm.
  if (isFixedBySigning(error)) return true;
  return error instanceof RemoteCallFailure && error.retryable && !isOutcome(error);
}
