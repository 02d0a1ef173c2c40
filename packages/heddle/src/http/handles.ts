import type { FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { isUuid } from '@heddle/base/ids';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Task } from '@heddle/base/vocabulary/task';
import type { Clock } from '@heddle/base/clock';
import { verifyHandle } from '@heddle/base/signing';
import type { SigningKeys } from './ports.ts';

const GRACE_DEFAULT_MS = 3_600_000;

export function invalidHandle(reason: string): HeddleError {
  return new HeddleError('INVALID_HANDLE', undefined, { details: [`signature: ${reason}`] });
}

/** Signed task URLs that replace a token: `?attempt=…&signature=…`. */
export class Handles {
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #graceMs: number;

  constructor(keys: SigningKeys, clock: Clock, graceMs = GRACE_DEFAULT_MS) {
    this.#keys = keys;
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /** Returns whether the request has a handle, valid or not. */
  isPresented({ query }: Pick<FastifyRequest, 'query'>): boolean {
    const { attempt, signature } = query as Record<string, unknown>;
    return attempt !== undefined || signature !== undefined;
  }

  /**
   * Returns whether the request has a valid handle, and records its attempt. An invalid handle is rejected even with a
   * valid token. Throws INVALID_HANDLE.
   */
  async admit(request: FastifyRequest): Promise<boolean> {
    if (!this.isPresented(request)) return false;
    const { attempt, signature } = request.query as Record<string, unknown>;
    const taskId = (request.params as Record<string, string>).task_id?.toLowerCase() ?? '';
    if (typeof attempt !== 'string' || !/^\d{1,5}$/.test(attempt) || typeof signature !== 'string' || !isUuid(taskId)) {
      throw invalidHandle('a handle has one attempt and one signature; use it unchanged');
    }
    const keys = await this.#keys.keys('handle');
    if (!verifyHandle(taskId, Number(attempt), signature, keys)) {
      throw invalidHandle('does not match this task and attempt; use the handle unchanged');
    }
    request.heddle.handleAttempt = Number(attempt);
    return true;
  }

  /** Rejects a handle of an older attempt, or of a task that ended longer ago than the grace period. */
  requireCurrent(task: Pick<Task, 'attempt' | 'state' | 'ended_at'>, attempt: number | null): void {
    if (attempt === null) return;
    if (task.attempt !== attempt)
      throw invalidHandle(`is for attempt ${attempt}; the current attempt is ${task.attempt}`);
    if (!isTerminal(task.state) || task.ended_at === null) return;
    if (task.ended_at + this.#graceMs < this.#clock.now())
      throw invalidHandle('the grace period after the task’s end has passed');
  }
}
