import type { FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import type { AttemptHolder, Engine } from '@heddle/core/engine/port';
import { Coalescer } from '@heddle/base/coalescer';

/** Lookups per statement, and the maximum number waiting for it. */
const SET_MAX = 2_000;
const WAITING_MAX = 50_000;

/**
 * The identity of a worker: its token and the name it gives itself. A worker without a name is identified by its
 * address.
 * @param named the `holder` of the request
 */
export function holderOf({ ip, heddle }: Pick<FastifyRequest, 'ip' | 'heddle'>, named: string | undefined): string {
  const worker = named ?? `worker at ${plainAddress(ip)}`;
  return heddle.tokenName === null ? worker : `${worker} (token ${heddle.tokenName})`;
}

/** Prefix that `holderOf` uses for a worker with a token. */
const BY_TOKEN = / \(token .*\)$/s;

/** The same for both address families on this machine: a worker's connections may use either. */
function plainAddress(ip: string): string {
  const address = ip.startsWith('::ffff:') ? ip.slice('::ffff:'.length) : ip;
  return address === '::1' ? '127.0.0.1' : address;
}

/** @throws HeddleError FORBIDDEN if a token for some kinds asks for others */
export function requireKindsOfToken(allowed: readonly string[] | null, asked: readonly string[]): void {
  const others = allowed === null ? [] : asked.filter((kind) => !allowed.includes(kind));
  if (others.length === 0) return;
  throw new HeddleError('FORBIDDEN', `The token does not grant the kind ${others[0]!}`, {
    details: [`kinds: the token may claim ${allowed!.join(', ')}, not ${others.join(', ')}`],
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
   * @throws HeddleError HELD_BY_ANOTHER; CONFLICT if the task starts by a webhook
   */
  async requireHeld(taskId: string, attempt: number, holder: string): Promise<void> {
    const found = await this.#looks.add(taskId);
    if (found === null) return;
    refuseWebhookTasks(found);
    if (found.attempt === attempt && found.holder !== null) requireSame(found.holder, holder);
  }

  /**
   * Requires that a worker may read the context of its task. If a worker claimed the task with a token, only that
   * worker may; a task from a queue is read by its worker, whose token is unknown here.
   * @throws HeddleError HELD_BY_ANOTHER; CONFLICT if the task starts by a webhook
   */
  async requireReader(taskId: string, holder: string): Promise<void> {
    const found = await this.#looks.add(taskId);
    if (found === null) return;
    refuseWebhookTasks(found);
    if (found.holder !== null && BY_TOKEN.test(found.holder)) requireSame(found.holder, holder);
  }

  drain(): Promise<void> {
    return this.#looks.drain();
  }
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
