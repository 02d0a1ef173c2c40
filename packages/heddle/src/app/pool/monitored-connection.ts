import type { AgentConnection } from '@heddle/core/pool/agent/agent';
import type { Orders } from '@heddle/core/pool/port/store';
import { isAlive, type ProcessMark } from '@heddle/core/pool/providers/process/records';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';

const CHECK_MS = 1_000;
/** Share of the timeout that applies if the server that launched the runner is gone too: time to start it again. */
const ORPHAN_SHARE = 1 / 2;

/** A connection to the pool that records the time of the last answer. */
export class MonitoredConnection implements AgentConnection {
  readonly #connection: AgentConnection;
  readonly #clock: Clock;
  readonly #onRegistered: (orders: Orders) => void;
  #answeredAt: number;

  /** @param onRegistered called with the orders of the runner after its registration */
  constructor(connection: AgentConnection, clock: Clock, onRegistered: (orders: Orders) => void) {
    this.#connection = connection;
    this.#clock = clock;
    this.#onRegistered = onRegistered;
    this.#answeredAt = clock.monotonic();
  }

  /** Milliseconds since the last answer. */
  get silentMs(): number {
    return this.#clock.monotonic() - this.#answeredAt;
  }

  register: AgentConnection['register'] = async (registration) => {
    const orders = await this.#track(this.#connection.register(registration));
    if (orders !== null) this.#onRegistered(orders);
    return orders;
  };

  heartbeat: AgentConnection['heartbeat'] = (runnerId) => this.#track(this.#connection.heartbeat(runnerId));
  confirm: AgentConnection['confirm'] = (runnerId, epoch) => this.#track(this.#connection.confirm(runnerId, epoch));
  release: AgentConnection['release'] = (runnerId, epoch) => this.#track(this.#connection.release(runnerId, epoch));
  drain: AgentConnection['drain'] = (runnerIds, reason) => this.#track(this.#connection.drain(runnerIds, reason));

  async #track<T>(answer: Promise<T>): Promise<T> {
    const value = await answer;
    this.#answeredAt = this.#clock.monotonic();
    return value;
  }
}

export interface IsolationOptions {
  connection: MonitoredConnection;
  /** Server that launched the runner, if it is a process on this machine. */
  server: ProcessMark | null;
  aloneMs: number;
  clock: Clock;
  log: Logger;
  onIsolated: (reason: string) => void;
}

/**
 * Ends a runner that has lost its pool, so that no process remains after Heddle was killed on a machine. While any
 * server answers, the pool may continue to use the runner.
 */
export function isolationLoop({ connection, server, aloneMs, clock, log, onIsolated }: IsolationOptions): Loop {
  let reported = false;
  const runOnce = (): Promise<'idle'> => {
    const { silentMs } = connection;
    const orphaned = server !== null && silentMs > aloneMs * ORPHAN_SHARE && !isAlive(server);
    if (!reported && (orphaned || silentMs > aloneMs)) {
      reported = true;
      const secs = Math.round(silentMs / 1_000);
      onIsolated(`the pool did not answer for ${secs} s${orphaned ? ', and the server is gone' : ''}`);
    }
    return Promise.resolve('idle');
  };
  return new Loop({ name: 'alone', intervalMs: Math.min(CHECK_MS, aloneMs / 12), clock, log, runOnce });
}
