import type { FastifyRequest } from 'fastify';

import { HeddleError } from '../../domain/errors.ts';
import type { AttemptHolder, Engine } from '../../engine/port.ts';
import { Coalescer } from '../../runtime/coalescer.ts';

/** Looks of one statement, and those that may wait for it. */
const SET_MAX = 2_000;
const WAITING_MAX = 50_000;

/**
 * Who a worker is to Heddle: the token that it came with, and what it calls itself. A worker without a name is known by
 * its address.
 *
 * @param named what the request says as `holder`
 */
export function holderOf({ ip, heddle }: Pick<FastifyRequest, 'ip' | 'heddle'>, named: string | undefined): string {
  const worker = named ?? `worker at ${plainAddress(ip)}`;
  return heddle.tokenName === null ? worker : `${worker} (token ${heddle.tokenName})`;
}

/** What `holderOf` says of a worker that came with a token. */
const BY_TOKEN = / \(token .*\)$/s;

/** The same for both families where the caller is on this machine: its connections may come by either. */
function plainAddress(ip: string): string {
  const address = ip.startsWith('::ffff:') ? ip.slice('::ffff:'.length) : ip;
  return address === '::1' ? '127.0.0.1' : address;
}

/** Keeps what is said of a claimed task to the worker that claimed it. */
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
   * Lets a worker speak for an attempt that it claimed. An attempt that is over, and a task that is not there, pass:
   * whoever handles the request refuses those. The holder of an attempt never changes, so what holds here holds for as
   * long as the attempt is open.
   *
   * @throws HeddleError HELD_BY_ANOTHER; CONFLICT where the task starts by a webhook
   */
  async requireHeld(taskId: string, attempt: number, holder: string): Promise<void> {
    const found = await this.#looks.add(taskId);
    if (found === null) return;
    refuseWebhookTasks(found);
    if (found.attempt === attempt && found.holder !== null) requireSame(found.holder, holder);
  }

  /**
   * Lets a worker read what its task sees. Of a task that a worker claimed with a token only that worker may; one that
   * came through a queue is read by its worker, of whose token nothing is known here.
   *
   * @throws HeddleError HELD_BY_ANOTHER; CONFLICT where the task starts by a webhook
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
      'holder: this attempt was claimed by another worker, or under another name; stop its work, or say what the claim ' +
        'said: the same token, and the same holder or none',
    ],
  });
}

function refuseWebhookTasks({ starts_by_webhook }: AttemptHolder): void {
  if (!starts_by_webhook) return;
  throw new HeddleError('CONFLICT', 'The task starts by a webhook', {
    details: [
      'task_id: starts by a webhook, and workers have no say in it; its target reports by its handle, or by PATCH /task/{task_id}',
    ],
  });
}
