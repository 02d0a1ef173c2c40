import type { FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import type { AttemptHolder, Engine } from '@heddle/core/engine/port';
import { Coalescer } from '@heddle/base/coalescer';
import { taskNotFound } from '../routes/transitions.ts';

/** Lookups per statement, and the maximum number waiting for it. */
const SET_MAX = 2_000;
const WAITING_MAX = 50_000;

/** Who calls about a claimed task. */
export interface WorkCaller {
  /** Its token and the name it gives itself. */
  holder: string;
  /** The kinds of its token; null: any. */
  kinds: readonly string[] | null;
  /** Whether it is a runner, which may call about the task that it holds only. */
  isRunner: boolean;
}

/**
 * Returns the worker of a request. One without a name is identified by its address.
 * @param named the `holder` of the request
 */
export function callerOf({ ip, heddle }: Pick<FastifyRequest, 'ip' | 'heddle'>, named: string | undefined): WorkCaller {
  const worker = named ?? `worker at ${plainAddress(ip)}`;
  const { tokenName, kinds, runner } = heddle;
  const holder = tokenName === null ? worker : `${worker} (token ${tokenName})`;
  return { holder, kinds, isRunner: runner !== null };
}

/** End of the holder of a worker with a token. */
const BY_TOKEN = / \(token .*\)$/s;

/** The same for both address families on this machine: a worker's connections may use either. */
function plainAddress(ip: string): string {
  const address = ip.startsWith('::ffff:') ? ip.slice('::ffff:'.length) : ip;
  return address === '::1' ? '127.0.0.1' : address;
}

/** @throws HeddleError FORBIDDEN if a token for some kinds is used for others */
export function requireKindsOfToken(allowed: readonly string[] | null, asked: readonly string[]): void {
  const others = allowed === null ? [] : asked.filter((kind) => !allowed.includes(kind));
  if (others.length === 0) return;
  throw new HeddleError('FORBIDDEN', `The token does not grant the kind ${others[0]!}`, {
    details: [`kinds: the token is for ${allowed!.join(', ')}, not for ${others.join(', ')}`],
  });
}

/** Restricts calls about a claimed task to the worker that claimed it. */
export class WorkHolders {
  readonly #looks: Coalescer<string, AttemptHolder | null>;

  constructor(engine: Pick<Engine, 'attemptHolders'>) {
    this.#looks = new Coalescer({
      flush: async (ids) => {
        const found = new Map((await engine.attemptHolders([...new Set(ids)])).map((each) => [each.task_id, each]));
        return ids.map((id) => found.get(id) ?? null);
      },
      maxItems: SET_MAX,
      maxWaiting: WAITING_MAX,
    });
  }

  /**
   * Requires that a worker claimed the attempt that its call is about. Ended attempts and missing tasks pass: the
   * handler of the request rejects those. The holder of an attempt never changes, so this check remains valid while the
   * attempt is open.
   * @throws HeddleError HELD_BY_ANOTHER; CONFLICT if the task starts by a webhook; FORBIDDEN
   */
  async requireHeld(taskId: string, attempt: number, caller: WorkCaller): Promise<void> {
    const found = await this.#find(taskId, caller);
    if (found !== null && found.attempt === attempt && found.holder !== null) requireSame(found.holder, caller.holder);
  }

  /**
   * The same for what a worker adds to an attempt beside its end: one that received the task from a queue may, whose
   * name is unknown here. Attempts that have ended pass: their last lines may arrive late.
   * @throws HeddleError as requireHeld; NOT_FOUND; STALE_ATTEMPT if the attempt has not begun
   */
  async requireWorker(taskId: string, attempt: number, caller: WorkCaller): Promise<{ secretsSent: boolean }> {
    const found = await this.#find(taskId, caller);
    if (caller.isRunner) requireOpen(found, attempt);
    if (found === null) throw taskNotFound(taskId);
    if (found.attempt < attempt) throw staleAttempt();
    const isHeld = !found.from_queue && found.attempt === attempt && found.holder !== null;
    if (isHeld) requireSame(found.holder!, caller.holder);
    return { secretsSent: found.secrets_sent };
  }

  /**
   * Requires that a worker may read the context of its task. If a worker claimed the task with a token, only that
   * worker may; a task from a queue is read by its worker, whose token is unknown here.
   * @throws HeddleError HELD_BY_ANOTHER; CONFLICT if the task starts by a webhook; FORBIDDEN
   */
  async requireReader(taskId: string, caller: WorkCaller): Promise<void> {
    const found = await this.#find(taskId, caller);
    if (caller.isRunner) requireOpen(found, null);
    if (found !== null && found.holder !== null && BY_TOKEN.test(found.holder))
      requireSame(found.holder, caller.holder);
  }

  /**
   * Requires that a worker runs the attempt now, with a token that is limited to kinds.
   * @throws HeddleError HELD_BY_ANOTHER, STALE_ATTEMPT, NOT_FOUND, CONFLICT, FORBIDDEN
   */
  async requireTrusted(taskId: string, attempt: number, caller: WorkCaller): Promise<void> {
    if (caller.kinds === null && !caller.isRunner) {
      throw new HeddleError('FORBIDDEN', 'The caller may run tasks of every kind', {
        details: [
          'authorization: secrets are given only to runners, and to tokens of some kinds; create one with `heddle token create --scope work --kind KIND`',
        ],
      });
    }
    const found = await this.#find(taskId, caller);
    const { holder, from_queue } = requireOpen(found, attempt);
    if (!from_queue) requireSame(holder, caller.holder);
  }

  async #find(taskId: string, { holder, kinds, isRunner }: WorkCaller): Promise<AttemptHolder | null> {
    const found = await this.#looks.add(taskId);
    if (found === null) return null;
    requireKindsOfToken(kinds, [found.kind]);
    refuseWebhookTasks(found);
    if (isRunner && found.holder !== null) requireSame(found.holder, holder);
    return found;
  }

  drain(): Promise<void> {
    return this.#looks.drain();
  }
}

export const STOP = 'stop working on it: further reports are ignored';

export function staleAttempt(): HeddleError {
  return new HeddleError('STALE_ATTEMPT', undefined, {
    details: [`attempt: has ended, or its lease expired and the task was requeued; ${STOP}`],
  });
}

/**
 * @param attempt null: any
 * @throws HeddleError STALE_ATTEMPT if the attempt is not open
 */
function requireOpen(found: AttemptHolder | null, attempt: number | null): AttemptHolder & { holder: string } {
  if (found === null || found.holder === null || (attempt !== null && found.attempt !== attempt)) throw staleAttempt();
  return { ...found, holder: found.holder };
}

function requireSame(held: string, holder: string): void {
  if (held === holder) return;
  throw new HeddleError('HELD_BY_ANOTHER', undefined, {
    details: [
      'holder: this attempt was claimed by another worker or under another name; stop working on it, or use the ' +
        'token and the holder (or none) of the claim',
    ],
  });
}

function refuseWebhookTasks({ starts_by_webhook }: AttemptHolder): void {
  if (!starts_by_webhook) return;
  throw new HeddleError('CONFLICT', 'The task starts by a webhook', {
    details: [
      'task_id: starts by a webhook, so workers cannot report on it; its target reports with its handle, or by PATCH /task/{task_id}',
    ],
  });
}
