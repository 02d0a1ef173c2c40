import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { HeddleApiError, type HeddleClient } from '@heddle/client';
import type { AgentConnection } from '@heddle/core/pool/agent/agent';
import type { Orders, Registration } from '@heddle/core/pool/port/store';
import { clientOf, type ServerAddress } from '../server-access.ts';

type WireOrders = NonNullable<Awaited<ReturnType<HeddleClient['runner']['heartbeat']>>>;

/** Times of the pool that the agent needs, milliseconds. */
export interface AgentTimes {
  heartbeat_ms: number;
  exit_grace_ms: number;
  disconnected_ms: number;
}

const WAIT_SECS = 30;
/** Pause after a failed wait, and the longest one for the heartbeat that follows a change. */
const PAUSE_MS = 1_000;

/** The pool as the agent of a runner reaches it: registered with a token, then by the credential of the runner alone. */
export class ServerConnection implements AgentConnection {
  readonly #address: ServerAddress;
  readonly #clock: Clock;
  readonly #registrar: HeddleClient;
  readonly #client: HeddleClient;
  #registration: Registration | null = null;
  #credential: string | undefined;
  #last: Orders | null = null;
  /** Orders that a wait has returned, and that no call has changed since. */
  #fresh: { orders: Orders | null } | null = null;
  #answered = Promise.withResolvers<null>();

  constructor(address: ServerAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
    this.#registrar = clientOf(address);
    this.#client = clientOf(this.server);
  }

  /** For calls about the task of the runner. */
  get server(): ServerAddress {
    return { ...this.#address, token: () => this.#credential };
  }

  register: AgentConnection['register'] = async (registration) => {
    this.#registration = registration;
    return (await this.#register(registration)).orders;
  };

  /** Registers once more to learn the times of the pool, which the agent needs before it starts. */
  async times(registration: Registration): Promise<AgentTimes> {
    return (await this.#register(registration)).times;
  }

  heartbeat: AgentConnection['heartbeat'] = async () => {
    const fresh = this.#fresh;
    this.#fresh = null;
    if (fresh !== null && isNewer(fresh.orders, this.#last)) return this.#note(fresh.orders);
    try {
      return this.#note(ordersOf(await this.#client.runner.heartbeat()));
    } catch (error) {
      // Keys of the servers were replaced.
      if (!(error instanceof HeddleApiError) || error.status !== 401 || this.#registration === null) throw error;
      return this.register(this.#registration);
    }
  };

  confirm: AgentConnection['confirm'] = (_id, epoch) => {
    this.#fresh = null;
    return this.#client.runner.confirm(epoch);
  };

  release: AgentConnection['release'] = (_id, epoch) => {
    this.#fresh = null;
    return this.#client.runner.release(epoch ?? 0);
  };

  drain: AgentConnection['drain'] = async (_ids, reason) => {
    this.#fresh = null;
    await this.#client.runner.drain(reason);
    return 1;
  };

  /** Calls `onChanged` as soon as the orders differ from the last ones. */
  ordersLoop(onChanged: () => void, stop: AbortSignal, log: Logger): Loop {
    const runOnce = async (): Promise<'again' | 'idle'> => {
      if (this.#last === null || stop.aborted) return 'idle';
      const { epoch, state, ready, draining, peers } = this.#last;
      const known = { epoch, state, ready, draining, peers: peers.length, wait_secs: WAIT_SECS };
      const answer = await this.#client.runner.wait(known, stop).catch(() => null);
      if (answer === null) return 'idle';
      if (answer.changed) {
        const { promise } = this.#answered;
        this.#fresh = { orders: ordersOf(answer.orders) };
        onChanged();
        await Promise.race([promise, this.#clock.sleep(PAUSE_MS, stop)]);
      }
      return 'again';
    };
    return new Loop({ name: 'orders', intervalMs: PAUSE_MS, clock: this.#clock, log, runOnce });
  }

  async #register(registration: Registration): Promise<{ orders: Orders | null; times: AgentTimes }> {
    const { runner_id, batch_id, provider_id, address } = registration;
    const { orders, credential, ...times } = await this.#registrar.runner.register({
      ...(runner_id === null ? {} : { runner_id }),
      ...(batch_id === null ? {} : { batch_id }),
      provider_id,
      ...(address === null ? {} : { address }),
    });
    this.#credential = credential ?? undefined;
    return { orders: this.#note(ordersOf(orders)), times };
  }

  #note(orders: Orders | null): Orders | null {
    this.#last = orders;
    this.#answered.resolve(null);
    this.#answered = Promise.withResolvers();
    return this.#last;
  }
}

/** A wait and a heartbeat may be answered in one order and arrive in the other. */
function isNewer(orders: Orders | null, last: Orders | null): boolean {
  return orders === null || last === null || orders.now >= last.now;
}

function ordersOf(wire: WireOrders | null): Orders | null {
  if (wire === null) return null;
  const { threshold, now, ...orders } = wire;
  return { ...orders, threshold: Date.parse(threshold), now: Date.parse(now) };
}
