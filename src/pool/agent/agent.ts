import { END_REASONS } from '../../domain/runner/end-reasons.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { Loop } from '../../runtime/loop.ts';
import { within } from '../deadline.ts';
import type { GrantedRunner, Orders, Registration, RunnerStore } from '../port/store.ts';

/** What an agent says, and hears. */
export type AgentLine = Pick<RunnerStore, 'register' | 'pulse' | 'confirm' | 'release' | 'drain'>;

export interface RunnerAgentOptions {
  readonly line: AgentLine;
  readonly registration: Registration;
  readonly clock: Clock;
  readonly log: Logger;
  /** Between two signs of life, milliseconds; 5,000 by default. */
  readonly pulse_ms?: number;
  /** How long after its threshold it ends itself where nobody has ended it, milliseconds; 60,000 by default. */
  readonly farewell_ms?: number;
  /** How long it tries to say its first word, milliseconds; 240,000 by default. */
  readonly register_ms?: number;
  /** Whether work of an earlier claim still goes on: no claim is confirmed until it has ended. */
  isBusy?(): boolean;
  /**
   * It was claimed, and so were all runners of its request; each has confirmed it, so that none of them is at earlier work: the
   * work begins. Called once for each claim.
   */
  onClaimed(orders: Orders): void;
  /** The claim of this epoch is not its own any more, before `finish`: the work is somebody else's. */
  onRevoked?(epoch: number): void;
  /** Of the runners that this claim has, these others have ended. Called once for each. */
  onPeersLost?(epoch: number, lost: readonly GrantedRunner[]): void;
  /** It is to take nothing more; work under way may be finished, or handed back where it is interrupted. */
  onDraining?(orders: Orders): void;
  /** It is over: the process may end. Called once. */
  onEnd(reason: string): void;
}

const PULSE_MS = 5_000;
const FAREWELL_MS = 60_000;
const REGISTER_MS = 240_000;
/** A word that is not answered within this is said again. */
const ANSWER_MS = 10_000;

/** What it still has to say, each until it was heard. */
interface Unsaid {
  /** The epoch that it has finished. */
  finished: number | null;
  /** Why it is to be drained. */
  drain: string | null;
}

/**
 * A runner's end of the line: says that it lives, hears whether it was claimed, confirms, and says when it is free again.
 * Everything is said again until it was heard, so it outlives a database that is away for a while.
 */
export class RunnerAgent {
  readonly #options: RunnerAgentOptions;
  readonly #loop: Loop;
  readonly #startedAt: number;
  readonly #unsaid: Unsaid = { finished: null, drain: null };
  #orders: Orders | null = null;
  /** The claim that it works for; null: none. */
  #working: number | null = null;
  /** The runners of that claim, those that have ended left out. */
  #peers: readonly GrantedRunner[] = [];
  /** The highest epoch that it has begun. */
  #begun = 0;
  /** The last epoch whose confirmation was refused. */
  #refused = 0;
  #draining = false;
  #deaf = false;
  #over = false;
  /** Those who wait until what they said was heard. */
  #saying: (() => void)[] = [];

  constructor(options: RunnerAgentOptions) {
    this.#options = options;
    const { clock, log, pulse_ms = PULSE_MS } = options;
    this.#startedAt = clock.monotonic();
    this.#loop = new Loop({
      name: 'runner agent',
      intervalMs: pulse_ms,
      clock,
      log,
      runOnce: () => this.#speak(),
    });
  }

  /** What it was told last; null before the first answer. */
  get orders(): Orders | null {
    return this.#orders;
  }

  /** The epoch of the claim that it works for; null where it is free. */
  get working(): number | null {
    return this.#working;
  }

  start(): void {
    this.#loop.start();
  }

  /** Speaks now: its orders may have changed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Says nothing more; what it was claimed for waits again when it has been silent for long enough. */
  async stop(): Promise<void> {
    this.#over = true;
    await this.#loop.stop();
    this.#resolveSaid(this.#saying);
  }

  /** The work of a claim is done. Resolves when that was heard, or when there is nobody to hear it any more. */
  finish(epoch: number): Promise<void> {
    if (this.#over || this.#working !== epoch) return Promise.resolve();
    this.#unsaid.finished = epoch;
    return this.#say();
  }

  /** It is to take nothing more: `interrupted` where its machine is about to be taken away. Resolves when that was heard. */
  drain(reason: string): Promise<void> {
    if (this.#over) return Promise.resolve();
    this.#unsaid.drain = reason;
    return this.#say();
  }

  #say(): Promise<void> {
    const said = new Promise<void>((resolve) => this.#saying.push(resolve));
    this.wake();
    return said;
  }

  async #speak(): Promise<'again' | 'idle'> {
    if (this.#over) return 'idle';
    const orders = await this.#hear(() => this.#pass());
    if (this.#isOver()) return 'idle';
    if (orders === undefined) {
      this.#endIfForgotten();
      return 'idle';
    }
    this.#deaf = false;
    if (orders === null || orders.state === 'terminated') {
      this.#end(this.#orders === null ? 'it is not expected any more' : 'it was ended');
      return 'idle';
    }
    this.#orders = orders;
    const isOverdue = this.#drainIfOverdue(orders);
    return (await this.#obey(orders)) || isOverdue ? 'again' : 'idle';
  }

  /** Servers end what is past its time; where none does, nobody would end this runner. */
  #drainIfOverdue({ state, threshold, now, draining }: Orders): boolean {
    const { farewell_ms = FAREWELL_MS } = this.#options;
    if (draining || (state !== 'idle' && state !== 'created') || now < threshold + farewell_ms) return false;
    this.#unsaid.drain ??= END_REASONS.idle_too_long;
    return true;
  }

  /** Undefined where nobody answers. */
  async #hear<T>(say: () => Promise<T>): Promise<T | undefined> {
    const { clock, log } = this.#options;
    try {
      return await within(clock, ANSWER_MS, 'the database', say());
    } catch (error) {
      if (!this.#deaf) log.warn({ err: error }, 'The runner is not heard; it goes on trying');
      this.#deaf = true;
      return undefined;
    }
  }

  /** One sign of life, after all that it still has to say. */
  async #pass(): Promise<Orders | null> {
    const { line, registration } = this.#options;
    if (this.#orders === null) {
      const orders = await line.register(registration);
      if (orders === null || this.#unsaid.drain === null) return orders;
      // Who is to take nothing more from its first moment on is told so at once.
      this.#orders = orders;
    }
    const id = this.#orders.runner_id;
    const { drain, finished } = this.#unsaid;
    // What is said from now on is heard next time.
    const saying = [...this.#saying];
    if (drain !== null) {
      await line.drain([id], drain);
      this.#unsaid.drain = null;
    }
    if (finished !== null) {
      await line.release(id, finished);
      if (this.#unsaid.finished === finished) this.#unsaid.finished = null;
      if (this.#working === finished) this.#working = null;
    }
    this.#resolveSaid(saying);
    return line.pulse(id);
  }

  /** Whether it is to speak again at once. */
  async #obey(orders: Orders): Promise<boolean> {
    const { line } = this.#options;
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
    this.#missPeers(orders);
    if (!isHeld || epoch <= this.#begun) return false;
    if (this.#options.isBusy?.() === true) return false;
    // What runs already was confirmed before, by a word whose answer was lost.
    if (state === 'claimed') {
      const isOurs = await this.#hear(() => line.confirm(orders.runner_id, epoch));
      if (this.#isOver()) return false;
      // Not heard: it is said again with the next sign of life.
      if (isOurs !== true) return isOurs === false && this.#isNewlyRefused(epoch);
    }
    // The last one of them to confirm wakes the others.
    if (!orders.ready) return false;
    this.#begun = epoch;
    this.#working = epoch;
    this.#peers = orders.peers;
    this.#options.onClaimed(orders);
    return false;
  }

  #missPeers({ epoch, peers }: Orders): void {
    if (this.#working !== epoch) return;
    const here = new Set(peers.map(({ id }) => id));
    const lost = this.#peers.filter(({ id }) => !here.has(id));
    if (lost.length === 0) return;
    this.#peers = peers;
    this.#options.onPeersLost?.(epoch, lost);
  }

  /** Refused, there are newer orders, which are asked for at once; but not again and again. */
  #isNewlyRefused(epoch: number): boolean {
    const isNew = epoch > this.#refused;
    this.#refused = epoch;
    return isNew;
  }

  /** Asked through a function because a stop may come while it waits for an answer. */
  #isOver(): boolean {
    return this.#over;
  }

  #endIfForgotten(): void {
    const { clock, farewell_ms = FAREWELL_MS, register_ms = REGISTER_MS } = this.#options;
    if (this.#orders === null) {
      if (clock.monotonic() - this.#startedAt >= register_ms) this.#end('nobody has heard it');
    } else if (clock.now() >= this.#orders.threshold + farewell_ms) {
      this.#end('its time is over, and nobody is heard');
    }
  }

  #end(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#working = null;
    this.#resolveSaid(this.#saying);
    // From within a pass, so its end is not waited for.
    void this.#loop.stop();
    this.#options.log.info({ runner: this.#orders?.runner_id, reason }, 'The runner ends');
    this.#options.onEnd(reason);
  }

  #resolveSaid(said: readonly (() => void)[]): void {
    this.#saying = this.#saying.filter((resolve) => !said.includes(resolve));
    for (const resolve of said) resolve();
  }
}
