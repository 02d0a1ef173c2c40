import type { Client } from 'pg';

import type { Clock } from '@heddle/base/clock';
import { finishesWithin } from '@heddle/base/finishes-within';
import type { Logger } from '@heddle/base/log';
import { abandon, connect, isPooled, type SessionLimits } from './pool-connection.ts';
import { ConnectionFailure, connectionFailure } from './pool-failure.ts';

export interface PoolOptions extends SessionLimits {
  url: string;
  maxSize: number;
  /** Connections kept open while idle. */
  minIdle: number;
  /** Idle time after which connections beyond `minIdle` are closed. */
  idleTimeoutMs: number;
  applicationName: string;
  /** Maximum wait for an answer of the server, beyond which the connection is closed. */
  answerTimeoutMs: number;
  /** Counts failed connects; while it is not closed, only the pool itself tries to connect. */
  breaker: ConnectBreaker | undefined;
  clock: Clock;
  log: Logger;
}

export interface ConnectBreaker {
  readonly state: 'closed' | 'open' | 'half_open';
  run<T>(work: () => Promise<T>, isFailure: (error: unknown) => boolean): Promise<T>;
  /** @throws HeddleError DATABASE_UNAVAILABLE */
  assertClosed(): void;
}

/** Lent connection; must be released exactly once. */
export interface Lease {
  readonly client: Client;
  /** True once the connection is gone. */
  readonly lost: boolean;
  /** Whether the session comes from a pooler. */
  readonly pooled: boolean;
  /** Waits for an answer of the server, which is timed. */
  awaiting<T>(answer: Promise<T>): Promise<T>;
  /** Marks the connection as not reusable after its release. */
  distrust(): void;
  release(): void;
}

interface Member {
  client: Client | undefined;
  lost: boolean;
  idleSince: number;
  /** Number of awaited answers, and the time since the last one came. */
  awaited: number;
  silentSince: number;
}

interface Waiter {
  readonly deadline: number;
  /** It has left the queue: a connection is being opened for it. */
  leaveLine(): void;
  give(member: Member): void;
  fail(error: unknown): void;
}

const CLOSE_GRACE_MS = 5_000;
/** Maximum backoff, and so the probe interval of an unavailable database. */
const REFILL_BACKOFF_MS = { first: 100, max: 1_000 };
/** Timeout of one connect: the next try may reach a server that this one does not. */
const CONNECT_TIMEOUT_MS = 10_000;
const WATCH_INTERVAL_MS = 1_000;

/** Connections to one database, lent in order of request, the most recently used first. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #members = new Set<Member>();
  readonly #idle: Member[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #closing = new AbortController();
  #refilling = false;
  #cancelSweep: () => void = () => undefined;
  #cancelWatch: () => void = () => undefined;
  #emptied: () => void = () => undefined;

  constructor(options: PoolOptions) {
    this.#options = { ...options, minIdle: Math.min(options.minIdle, options.maxSize) };
    this.#refill();
    this.#scheduleSweep();
    this.#scheduleWatch();
  }

  stats(): { size: number; idle: number; waiting: number } {
    return { size: this.#members.size, idle: this.#idle.length, waiting: this.#waiters.length };
  }

  /**
   * Lends a connection, waiting and connecting for at most `timeoutMs` in all.
   *
   * @throws ConnectionFailure
   */
  async acquire(timeoutMs: number): Promise<Lease> {
    if (this.#closing.signal.aborted) throw closedFailure();
    const idle = this.#takeIdle();
    if (idle !== undefined) return this.#lend(idle);
    return this.#lend(await (this.#mayOpen() ? this.#open(timeoutMs) : this.#wait(timeoutMs)));
  }

  /** Closes idle connections after one of them turned out to lead to the wrong server. */
  discardIdle(): void {
    for (const member of this.#idle.splice(0)) {
      // Closed without a goodbye, which an unresponsive server would not read.
      member.lost = true;
      this.#remove(member);
    }
  }

  /**
   * Returns whether a connection may be opened for a caller. While connects fail, callers wait for existing
   * connections, and are rejected if there are none.
   */
  #mayOpen(): boolean {
    if (this.#members.size >= this.#options.maxSize) return false;
    if ((this.#options.breaker?.state ?? 'closed') === 'closed') return true;
    const isConnected = (member: Member): boolean => member.client !== undefined && !member.lost;
    if (![...this.#members].some(isConnected)) this.#options.breaker?.assertClosed();
    return this.#options.breaker === undefined;
  }

  /** Rejects new callers, waits a few seconds for lent connections, then closes everything. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#cancelSweep();
    this.#cancelWatch();
    for (const waiter of this.#waiters.splice(0)) waiter.fail(closedFailure());
    for (const member of this.#idle.splice(0)) this.#remove(member);
    if (this.#members.size === 0) return;
    const emptied = new Promise<void>((resolve) => (this.#emptied = resolve));
    await finishesWithin(this.#options.clock, CLOSE_GRACE_MS, emptied);
    for (const member of [...this.#members]) {
      this.#members.delete(member);
      if (member.client !== undefined) abandon(member.client);
    }
  }

  #takeIdle(): Member | undefined {
    for (let member = this.#idle.pop(); member !== undefined; member = this.#idle.pop()) {
      if (!member.lost) return member;
      this.#remove(member);
    }
    return undefined;
  }

  /** Opens a connection in a slot of the pool that this call takes at once. */
  async #open(timeoutMs: number): Promise<Member> {
    const member: Member = { client: undefined, lost: false, idleSince: 0, awaited: 0, silentSince: 0 };
    this.#members.add(member);
    try {
      const { url, statementTimeoutMs, lockTimeoutMs, applicationName, breaker } = this.#options;
      const limits = { statementTimeoutMs, lockTimeoutMs, connectTimeoutMs: Math.min(timeoutMs, CONNECT_TIMEOUT_MS) };
      const open = (): Promise<Client> =>
        connect({ url, applicationName, ...limits }, (error) => this.#onLost(member, error));
      member.client = await (breaker?.run(open, () => !this.#isClosing()) ?? open());
    } catch (error) {
      this.#remove(member);
      throw connectionFailure(error);
    }
    if (this.#closing.signal.aborted) {
      this.#remove(member);
      throw closedFailure();
    }
    return member;
  }

  #wait(timeoutMs: number): Promise<Member> {
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(timeoutMs, () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        const reason = `all ${this.#options.maxSize} connections were busy for ${Math.round(timeoutMs)} ms`;
        reject(new ConnectionFailure(`No connection became free: ${reason}`, undefined, false));
      });
      const waiter: Waiter = {
        deadline: this.#options.clock.monotonic() + timeoutMs,
        leaveLine: cancel,
        give: (member) => {
          cancel();
          resolve(member);
        },
        fail: (error) => {
          cancel();
          reject(connectionFailure(error));
        },
      };
      this.#waiters.push(waiter);
    });
  }

  #lend(member: Member): Lease {
    let released = false;
    let trusted = true;
    return {
      client: member.client!,
      pooled: isPooled(member.client!),
      get lost() {
        return member.lost;
      },
      awaiting: (answer) => this.#awaiting(member, answer),
      distrust: () => {
        trusted = false;
      },
      release: () => {
        if (released) throw new Error('A connection was given back twice');
        released = true;
        if (!trusted || member.lost || this.#closing.signal.aborted) this.#remove(member);
        else this.#giveBack(member);
      },
    };
  }

  /** Each answer restarts the timer for those behind it, since pipelined statements are answered in order. */
  async #awaiting<T>(member: Member, answer: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    if (member.awaited === 0) member.silentSince = clock.monotonic();
    member.awaited += 1;
    try {
      return await answer;
    } finally {
      member.awaited -= 1;
      member.silentSince = clock.monotonic();
    }
  }

  #giveBack(member: Member): void {
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.give(member);
      return;
    }
    member.idleSince = this.#options.clock.monotonic();
    this.#idle.push(member);
  }

  #remove(member: Member): void {
    if (!this.#members.delete(member)) return;
    const { client } = member;
    if (client !== undefined) {
      if (member.lost) abandon(client);
      else void client.end().catch(() => abandon(client));
    }
    if (this.#closing.signal.aborted) {
      if (this.#members.size === 0) this.#emptied();
      return;
    }
    this.#openForNextWaiter();
    this.#refill();
  }

  /** Takes a freed slot at once, so that no new caller overtakes the one that waited. */
  #openForNextWaiter(): void {
    if (this.#waiters.length === 0) return;
    try {
      if (!this.#mayOpen()) return;
    } catch (error) {
      for (const waiter of this.#waiters.splice(0)) waiter.fail(error);
      return;
    }
    const waiter = this.#waiters.shift()!;
    waiter.leaveLine();
    const leftMs = waiter.deadline - this.#options.clock.monotonic();
    void this.#open(Math.max(1, leftMs)).then(
      (member) => waiter.give(member),
      (error: unknown) => waiter.fail(error),
    );
  }

  #onLost(member: Member, error: Error): void {
    member.lost = true;
    const at = this.#idle.indexOf(member);
    if (at === -1) return;
    this.#idle.splice(at, 1);
    this.#options.log.debug({ err: error }, 'idle database connection lost');
    this.#remove(member);
  }

  /** Restores `minIdle` connections in the background, with a growing wait between failures. */
  #refill(): void {
    if (this.#refilling || this.#closing.signal.aborted) return;
    this.#refilling = true;
    void this.#refillUntilWarm().finally(() => (this.#refilling = false));
  }

  async #refillUntilWarm(): Promise<void> {
    const { log, breaker, minIdle } = this.#options;
    // While connects fail, this is the probe that detects recovery.
    const wanted = (): number => ((breaker?.state ?? 'closed') === 'closed' ? minIdle : Math.max(1, minIdle));
    let waitMs = REFILL_BACKOFF_MS.first;
    while (this.#members.size < wanted() && !this.#isClosing()) {
      try {
        this.#giveBack(await this.#open(CONNECT_TIMEOUT_MS));
        waitMs = REFILL_BACKOFF_MS.first;
      } catch (error) {
        if (this.#isClosing()) return;
        log.debug({ err: error }, 'could not open a spare database connection');
        await this.#pauseUnlessClosing(waitMs);
        waitMs = Math.min(waitMs * 2, REFILL_BACKOFF_MS.max);
      }
    }
  }

  #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Sleeps on a timer that does not keep the process alive. */
  #pauseUnlessClosing(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const onClose = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.#options.clock.after(ms, () => {
        this.#closing.signal.removeEventListener('abort', onClose);
        resolve();
      });
      this.#closing.signal.addEventListener('abort', onClose, { once: true });
    });
  }

  /**
   * Closes connections whose server has not answered for too long: packets are lost, or a commit waits for a lost
   * standby. Idle connections of the same age are closed too, since they are likely affected.
   */
  #scheduleWatch(): void {
    const { clock, log, answerTimeoutMs } = this.#options;
    this.#cancelWatch = clock.after(Math.min(WATCH_INTERVAL_MS, answerTimeoutMs / 4), () => {
      const silentBefore = clock.monotonic() - answerTimeoutMs;
      const silent = [...this.#members].filter(
        ({ awaited, lost, silentSince }) => awaited > 0 && !lost && silentSince <= silentBefore,
      );
      for (const { client } of silent) {
        log.warn(
          { heartbeat_timeout_ms: Math.round(answerTimeoutMs) },
          'database does not answer; closing the connection',
        );
        if (client !== undefined) abandon(client, new Error(`no answer within ${answerTimeoutMs} ms`));
      }
      if (silent.length > 0) this.discardIdle();
      this.#scheduleWatch();
    });
  }

  #scheduleSweep(): void {
    const { clock, idleTimeoutMs, minIdle } = this.#options;
    this.#cancelSweep = clock.after(idleTimeoutMs / 2, () => {
      const idleBefore = clock.monotonic() - idleTimeoutMs;
      // The least recently used are at the front, because lending takes from the back.
      while (this.#members.size > minIdle && (this.#idle[0]?.idleSince ?? Infinity) <= idleBefore) {
        this.#remove(this.#idle.shift()!);
      }
      this.#scheduleSweep();
    });
  }
}

function closedFailure(): ConnectionFailure {
  return new ConnectionFailure('The pool of database connections is closed', undefined, false);
}
