import type { AgentConnection } from '../../pool/agent/agent.ts';
import type { Orders } from '../../pool/port/store.ts';
import { isAlive, type ProcessMark } from '../../pool/providers/process/records.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { Loop } from '../../runtime/loop.ts';

const LOOK_MS = 1_000;
/** Where its server is gone too, a runner waits for so much of the time only. */
const ORPHAN_SHARE = 1 / 6;

/** A line to the pool that knows when it was last answered. */
export class HeardLine implements AgentConnection {
  readonly #line: AgentConnection;
  readonly #clock: Clock;
  readonly #onRegistered: (orders: Orders) => void;
  #heardAt: number;

  /** @param onRegistered told what it is, after its first word */
  constructor(line: AgentConnection, clock: Clock, onRegistered: (orders: Orders) => void) {
    this.#line = line;
    this.#clock = clock;
    this.#onRegistered = onRegistered;
    this.#heardAt = clock.monotonic();
  }

  /** Milliseconds since the last answer. */
  get unheardMs(): number {
    return this.#clock.monotonic() - this.#heardAt;
  }

  register: AgentConnection['register'] = async (registration) => {
    const orders = await this.#heard(this.#line.register(registration));
    if (orders !== null) this.#onRegistered(orders);
    return orders;
  };

  pulse: AgentConnection['pulse'] = (runnerId) => this.#heard(this.#line.pulse(runnerId));
  confirm: AgentConnection['confirm'] = (runnerId, epoch) => this.#heard(this.#line.confirm(runnerId, epoch));
  release: AgentConnection['release'] = (runnerId, epoch) => this.#heard(this.#line.release(runnerId, epoch));
  drain: AgentConnection['drain'] = (runnerIds, reason) => this.#heard(this.#line.drain(runnerIds, reason));

  async #heard<T>(answer: Promise<T>): Promise<T> {
    const value = await answer;
    this.#heardAt = this.#clock.monotonic();
    return value;
  }
}

export interface AloneOptions {
  line: HeardLine;
  /** The server that launched it, where that is a process of this machine. */
  server: ProcessMark | null;
  aloneMs: number;
  clock: Clock;
  log: Logger;
  onAlone: (reason: string) => void;
}

/**
 * Ends a runner whose pool is gone, so that nothing is left behind where a machine's Heddle was killed. While the
 * database answers, other servers may go on using it.
 */
export function aloneLoop({ line, server, aloneMs, clock, log, onAlone }: AloneOptions): Loop {
  let told = false;
  const runOnce = (): Promise<'idle'> => {
    const { unheardMs } = line;
    const orphaned = server !== null && unheardMs > aloneMs * ORPHAN_SHARE && !isAlive(server);
    if (!told && (orphaned || unheardMs > aloneMs)) {
      told = true;
      const secs = Math.round(unheardMs / 1_000);
      onAlone(`the database has not answered for ${secs} s${orphaned ? ', and its server is gone' : ''}`);
    }
    return Promise.resolve('idle');
  };
  return new Loop({ name: 'alone', intervalMs: Math.min(LOOK_MS, aloneMs / 12), clock, log, runOnce });
}
