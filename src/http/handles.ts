import type { FastifyRequest } from 'fastify';

import { HeddleError } from '../domain/errors.ts';
import { isUuid } from '../domain/ids.ts';
import { isTerminal } from '../domain/task-state.ts';
import type { Task } from '../domain/task.ts';
import type { Clock } from '../runtime/clock.ts';
import { verifyHandle } from '../runtime/signing.ts';
import type { SigningKeys } from './ports.ts';

const GRACE_DEFAULT_MS = 3_600_000;

export function invalidHandle(reason: string): HeddleError {
  return new HeddleError('INVALID_HANDLE', undefined, { details: [`signature: ${reason}`] });
}

/** Signed task addresses that stand in for a token: `?attempt=…&signature=…`. */
export class Handles {
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #graceMs: number;

  constructor(keys: SigningKeys, clock: Clock, graceMs = GRACE_DEFAULT_MS) {
    this.#keys = keys;
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /**
   * Whether the request came by a handle; records its attempt. A query that looks like a handle and is none is refused,
   * whatever token comes with it. Throws INVALID_HANDLE.
   */
  async admit(request: FastifyRequest): Promise<boolean> {
    const { attempt, signature } = request.query as Record<string, unknown>;
    if (attempt === undefined && signature === undefined) return false;
    const taskId = (request.params as Record<string, string>).task_id?.toLowerCase() ?? '';
    if (typeof attempt !== 'string' || !/^\d{1,5}$/.test(attempt) || typeof signature !== 'string' || !isUuid(taskId)) {
      throw invalidHandle('a handle carries one attempt and one signature; use it as it was given');
    }
    const keys = await this.#keys.keys('handle');
    if (!verifyHandle(taskId, Number(attempt), signature, keys)) {
      throw invalidHandle('does not fit this task and attempt; use the handle as it was given');
    }
    request.heddle.handleAttempt = Number(attempt);
    return true;
  }

  /** Refuses a handle of an older attempt, or of a task whose end is longer ago than the grace. */
  requireCurrent(task: Pick<Task, 'attempt' | 'state' | 'ended_at'>, attempt: number | null): void {
    if (attempt === null) return;
    if (task.attempt !== attempt) throw invalidHandle(`speaks for attempt ${attempt}; the task is at ${task.attempt}`);
    if (!isTerminal(task.state) || task.ended_at === null) return;
    if (task.ended_at + this.#graceMs < this.#clock.now()) throw invalidHandle('the task ended too long ago');
  }
}
