import { availableParallelism } from 'node:os';

import type { Clock } from '../../runtime/clock.ts';
import type { TaskProcess } from './launcher.ts';
import { canStepBehind } from './priority.ts';
import type { Ahead } from './start-process.ts';

interface Spare {
  readonly process: TaskProcess;
  readonly cancelIdle: () => void;
}

interface Kind {
  /** How many are worth having: one more each time that none was ready. */
  wanted: number;
  /** Those that nobody has taken, the oldest first. */
  readonly starting: Ahead[];
  readonly ready: Spare[];
  /** Never throws: a start that fails rejects. */
  readonly start: () => Ahead;
}

/** Where they do not leave the processor to the tasks that run, they must not take all of it. */
const STARTS_AT_ONCE_MAX = Math.max(1, canStepBehind ? availableParallelism() : Math.floor(availableParallelism() / 2));

/**
 * Processes that were started ahead, each with the code of its one task to come. What was asked for last is kept; at most
 * so many are held in all, and none for long without being asked for.
 */
export class Spares {
  readonly #total: number;
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  /** Those asked for last stand last. */
  readonly #kinds = new Map<string, Kind>();
  /** With those that were taken meanwhile. */
  #starting = 0;
  #isClosed = false;

  constructor(total: number, idleMs: number, clock: Clock, onError: (error: unknown) => void) {
    this.#total = total;
    this.#idleMs = idleMs;
    this.#clock = clock;
    this.#onError = onError;
  }

  get held(): number {
    let held = 0;
    for (const kind of this.#kinds.values()) held += heldOf(kind);
    return held;
  }

  /**
   * One that is ready, else the one that will be first, else null. Whatever it is, another one is started for the next who
   * asks, once `refill` is called.
   */
  async take(key: string, start: () => Ahead): Promise<TaskProcess | null> {
    const kind = this.#used(key, start);
    for (let spare = kind.ready.shift(); spare !== undefined; spare = kind.ready.shift()) {
      spare.cancelIdle();
      if (spare.process.worker.isLost) continue;
      spare.process.stepUp();
      return spare.process;
    }
    kind.wanted = Math.min(kind.wanted + 1, this.#total);
    const ahead = kind.starting.shift();
    if (ahead === undefined) return null;
    ahead.hasten();
    const process = await ahead.ready.catch(() => null);
    // Its code may have ended it.
    if (process === null || process.worker.isLost) return null;
    // What it started in the meantime may still stand behind.
    process.stepUp();
    return process;
  }

  /** Starts what is missing of a kind. */
  refill(key: string): void {
    const kind = this.#kinds.get(key);
    while (kind !== undefined && !this.#isClosed && heldOf(kind) < kind.wanted) {
      if (this.#starting >= STARTS_AT_ONCE_MAX) return;
      if (this.held >= this.#total && !this.#evictBefore(key)) return;
      void this.#startOne(key, kind);
    }
  }

  /** At least one will be there. */
  warm(key: string, start: () => Ahead): void {
    this.#used(key, start);
    this.refill(key);
  }

  #used(key: string, start: () => Ahead): Kind {
    const kind = this.#kinds.get(key) ?? { wanted: 1, starting: [], ready: [], start };
    this.#kinds.delete(key);
    this.#kinds.set(key, kind);
    return kind;
  }

  async #startOne(key: string, kind: Kind): Promise<void> {
    const ahead = kind.start();
    kind.starting.push(ahead);
    this.#starting += 1;
    let process: TaskProcess | null = null;
    try {
      process = await ahead.ready;
    } catch (error) {
      this.#onError(error);
    }
    this.#starting -= 1;
    const at = kind.starting.indexOf(ahead);
    // Where somebody took it, it is theirs.
    if (at >= 0) {
      kind.starting.splice(at, 1);
      if (process !== null) this.#keep(key, kind, process);
    }
    // One that fails would fail again at once: the next who asks tries.
    if (process !== null) this.#startOwed();
  }

  #keep(key: string, kind: Kind, process: TaskProcess): void {
    if (this.#isClosed || this.#kinds.get(key) !== kind) process.kill();
    else {
      const cancelIdle = this.#clock.after(this.#idleMs, () => this.#endIdle(key, kind, process));
      kind.ready.push({ process, cancelIdle });
      // Its code may end it; the next who asks starts another one, not this: it might end as well.
      void process.gone.then(() => this.#withdraw(kind, process)?.cancelIdle());
    }
  }

  #withdraw(kind: Kind, process: TaskProcess): Spare | undefined {
    const at = kind.ready.findIndex((spare) => spare.process === process);
    return at < 0 ? undefined : kind.ready.splice(at, 1)[0];
  }

  /**
   * Starts what had to wait for its turn, the last asked for first. Nothing is ended for it: two kinds that do not fit side by
   * side would go on ending each other's.
   */
  #startOwed(): void {
    for (const [key, kind] of [...this.#kinds].reverse()) {
      if (this.#isClosed || this.#starting >= STARTS_AT_ONCE_MAX || this.held >= this.#total) return;
      if (heldOf(kind) < kind.wanted) void this.#startOne(key, kind);
    }
  }

  #endIdle(key: string, kind: Kind, process: TaskProcess): void {
    this.#withdraw(kind, process);
    process.kill();
    kind.wanted = Math.max(1, kind.wanted - 1);
    if (heldOf(kind) === 0) this.#kinds.delete(key);
  }

  /** Ends a spare of what was asked for longest ago. False where only `key` has any. */
  #evictBefore(key: string): boolean {
    for (const [other, kind] of this.#kinds) {
      if (other === key) continue;
      const spare = kind.ready.shift();
      if (heldOf(kind) === 0) this.#kinds.delete(other);
      if (spare === undefined) continue;
      spare.cancelIdle();
      spare.process.kill();
      return true;
    }
    return false;
  }

  close(): void {
    this.#isClosed = true;
    for (const kind of this.#kinds.values()) {
      for (const spare of kind.ready) {
        spare.cancelIdle();
        spare.process.kill();
      }
    }
    this.#kinds.clear();
  }
}

function heldOf({ ready, starting }: Kind): number {
  return ready.length + starting.length;
}
