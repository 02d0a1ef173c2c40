import { END_REASONS } from '../../domain/runner/end-reasons.ts';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { within } from '../deadline.ts';
import type { GrantedRunner, Orders, Registration, RunnerStore } from '../port/store.ts';

/** The store operations that an agent uses. */
export type AgentConnection = Pick<RunnerStore, 'register' | 'heartbeat' | 'confirm' | 'release' | 'drain'>;

export interface RunnerAgentOptions {
  readonly connection: AgentConnection;
  readonly registration: Registration;
  readonly clock: Clock;
  readonly log: Logger;
  /** Heartbeat interval, milliseconds (default 5,000). */
  readonly heartbeat_ms?: number;
  /** Time after its threshold at which the agent ends itself, milliseconds (default 60,000). */
  readonly exit_grace_ms?: number;
  /** How long the agent tries to register, milliseconds (default 240,000). */
  readonly register_ms?: number;
  /** Whether work of an earlier claim is still running; no claim is confirmed until it has ended. */
  isBusy?(): boolean;
  /**
   * Starts the work of a claim, called once for each claim. All runners of the request have confirmed, so none of them
   * is still doing earlier work.
   */
  onClaimed(orders: Orders): void;
  /** The claim of this epoch was revoked before `finish`; another runner takes over the work. */
  onRevoked?(epoch: number): void;
  /** Other runners of this claim have ended. Each is reported once. */
  onPeersLost?(epoch: number, lost: readonly GrantedRunner[]): void;
  /** The runner accepts no more claims. Current work may finish, or is handed back if the runner is interrupted. */
  onDraining?(orders: Orders): void;
  /** The runner has ended, so the process may exit. Called once. */
  onEnd(reason: string): void;
}

const HEARTBEAT_MS = 5_000;
const EXIT_GRACE_MS = 60_000;
const REGISTER_MS = 240_000;
/** A call that is not answered within this time is repeated. */
const ANSWER_MS = 10_000;

/** Reports to the store, each kept until it is acknowledged. */
interface PendingReports {
  /** Epoch of the finished claim. */
  finished: number | null;
  /** Why the runner is to be drained. */
  drain: string | null;
}

/**
 * The agent of a runner: registers, sends heartbeats, confirms claims, and releases the runner when work is finished.
 * Every report is repeated until it is acknowledged, so the agent survives outages of the database.
 */
export class RunnerAgent {
  readonly #options: RunnerAgentOptions;
  readonly #loop: Loop;
  readonly #startedAt: number;
  readonly #pending: PendingReports = { finished: null, drain: null };
  #orders: Orders | null = null;
  /** Epoch of the claim being worked on; null: none. */
  #working: number | null = null;
  /** Runners of that claim that have not ended. */
  #peers: readonly GrantedRunner[] = [];
  /** Highest epoch that was started. */
  #startedEpoch = 0;
  /** Last epoch whose confirmation was refused. */
  #refusedEpoch = 0;
  #draining = false;
  #isDisconnected = false;
  #hasEnded = false;
  /** Callers that wait for their report to be acknowledged. */
  #waiters: (() => void)[] = [];

  constructor(options: RunnerAgentOptions) {
    this.#options = options;
    const { clock, log, heartbeat_ms = HEARTBEAT_MS } = options;
    this.#startedAt = clock.monotonic();
    this.#loop = new Loop({
      name: 'runner agent',
      intervalMs: heartbeat_ms,
      clock,
      log,
      runOnce: () => this.#runOnce(),
    });
  }

  /** Latest orders; null before the first answer. */
  get orders(): Orders | null {
    return this.#orders;
  }

  /** Epoch of the claim being worked on; null if the runner is free. */
  get working(): number | null {
    return this.#working;
  }

  start(): void {
    this.#loop.start();
  }

  /** Sends a heartbeat now, since the orders may have changed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops without a report; the request is requeued when the runner has missed its heartbeats for long enough. */
  async stop(): Promise<void> {
    this.#hasEnded = true;
    await this.#loop.stop();
    this.#resolveWaiters(this.#waiters);
  }

  /** Reports that the work of a claim is done. Resolves when that is acknowledged, or when the agent has ended. */
  finish(epoch: number): Promise<void> {
    if (this.#hasEnded || this.#working !== epoch) return Promise.resolve();
    this.#pending.finished = epoch;
    return this.#report();
  }

  /**
   * Accepts no more claims; `interrupted`: the provider is reclaiming the machine. Resolves when that is acknowledged.
   */
  drain(reason: string): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    this.#pending.drain = reason;
    return this.#report();
  }

  #report(): Promise<void> {
    const acknowledged = new Promise<void>((resolve) => this.#waiters.push(resolve));
    this.wake();
    return acknowledged;
  }

  async #runOnce(): Promise<'again' | 'idle'> {
    if (this.#hasEnded) return 'idle';
    const orders = await this.#ask(() => this.#pass());
    if (this.#isStopped()) return 'idle';
    if (orders === undefined) {
      this.#endIfExpired();
      return 'idle';
    }
    this.#isDisconnected = false;
    if (orders === null || orders.state === 'terminated') {
      this.#end(this.#orders === null ? 'the runner is no longer expected' : 'the runner was ended');
      return 'idle';
    }
    this.#orders = orders;
    const isOverdue = this.#drainIfOverdue(orders);
    return (await this.#apply(orders)) || isOverdue ? 'again' : 'idle';
  }

  /** Drains an overdue runner in case no server is running to end it. */
  #drainIfOverdue({ state, threshold, now, draining }: Orders): boolean {
    const { exit_grace_ms = EXIT_GRACE_MS } = this.#options;
    if (draining || (state !== 'idle' && state !== 'created') || now < threshold + exit_grace_ms) return false;
    this.#pending.drain ??= END_REASONS.idle_too_long;
    return true;
  }

  /** Returns undefined if there is no answer. */
  async #ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    const { clock, log } = this.#options;
    try {
      return await within(clock, ANSWER_MS, 'the pool', call());
    } catch (error) {
      if (!this.#isDisconnected) log.warn({ err: error }, 'could not reach the pool; retrying');
      this.#isDisconnected = true;
      return undefined;
    }
  }

  /** Sends pending reports, then a heartbeat. */
  async #pass(): Promise<Orders | null> {
    const { connection, registration } = this.#options;
    if (this.#orders === null) {
      const orders = await connection.register(registration);
      if (orders === null || this.#pending.drain === null) return orders;
      // A runner that is drained before its registration reports that right away.
      this.#orders = orders;
    }
    const id = this.#orders.runner_id;
    const { drain, finished } = this.#pending;
    // Reports added from here on are sent with the next heartbeat.
    const waiters = [...this.#waiters];
    if (drain !== null) {
      await connection.drain([id], drain);
      this.#pending.drain = null;
    }
    if (finished !== null) {
      await connection.release(id, finished);
      if (this.#pending.finished === finished) this.#pending.finished = null;
      if (this.#working === finished) this.#working = null;
    }
    this.#resolveWaiters(waiters);
    return connection.heartbeat(id);
  }

  /** Applies the orders; returns whether to send another heartbeat at once. */
  async #apply(orders: Orders): Promise<boolean> {
    const { connection } = this.#options;
    const { epoch, state } = orders;
    const isHeld = state === 'claimed' || state === 'running';
    if (this.#working !== null && (!isHeld || epoch > this.#working)) {
      const lost = this.#working;
      this.#working = null;
      this.#options.onRevoked?.(lost);
    }
    if (orders.draining && !this.#draining) {
      this.#draining = true;
      this.#options.onDraining?.(orders);
    }
    this.#reportLostPeers(orders);
    if (!isHeld || epoch <= this.#startedEpoch) return false;
    if (this.#options.isBusy?.() === true) return false;
    // In state `running` the claim was confirmed already, by a call whose answer was lost.
    if (state === 'claimed') {
      const isConfirmed = await this.#ask(() => connection.confirm(orders.runner_id, epoch));
      if (this.#isStopped()) return false;
      // Without an answer, the confirmation is repeated with the next heartbeat.
      if (isConfirmed !== true) return isConfirmed === false && this.#isNewlyRefused(epoch);
    }
    // The last runner to confirm wakes the others.
    if (!orders.ready) return false;
    this.#startedEpoch = epoch;
    this.#working = epoch;
    this.#peers = orders.peers;
    this.#options.onClaimed(orders);
    return false;
  }

  #reportLostPeers({ epoch, peers }: Orders): void {
    if (this.#working !== epoch) return;
    const present = new Set(peers.map(({ id }) => id));
    const lost = this.#peers.filter(({ id }) => !present.has(id));
    if (lost.length === 0) return;
    this.#peers = peers;
    this.#options.onPeersLost?.(epoch, lost);
  }

  /** After a refusal, fetches the newer orders at once, but only once per epoch. */
  #isNewlyRefused(epoch: number): boolean {
    const isNew = epoch > this.#refusedEpoch;
    this.#refusedEpoch = epoch;
    return isNew;
  }

  /** A method, since the agent may be stopped during an await, which narrowing would hide. */
  #isStopped(): boolean {
    return this.#hasEnded;
  }

  #endIfExpired(): void {
    const { clock, exit_grace_ms = EXIT_GRACE_MS, register_ms = REGISTER_MS } = this.#options;
    if (this.#orders === null) {
      if (clock.monotonic() - this.#startedAt >= register_ms) this.#end('registration timed out');
    } else if (clock.now() >= this.#orders.threshold + exit_grace_ms) {
      this.#end('the deadline has passed and the pool is unreachable');
    }
  }

  #end(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#working = null;
    this.#resolveWaiters(this.#waiters);
    // Called from within a pass, so waiting for its end would deadlock.
    void this.#loop.stop();
    this.#options.log.info({ runner: this.#orders?.runner_id, reason }, 'runner ended');
    this.#options.onEnd(reason);
  }

  #resolveWaiters(waiters: readonly (() => void)[]): void {
    this.#waiters = this.#waiters.filter((resolve) => !waiters.includes(resolve));
    for (const resolve of waiters) resolve();
  }
}
