import { availableParallelism } from 'node:os';

import type { Clock } from '@heddle/base/clock';
import type { TaskProcess } from './launcher.ts';
import { canLowerPriority } from './priority.ts';
import type { Ahead } from './start-process.ts';

interface Spare {
  readonly process: TaskProcess;
  readonly cancelIdle: () => void;
}

interface Kind {
  /** Target number of spares; grows each time none was ready. */
  wanted: number;
  /** Starting processes that no task has taken, oldest first. */
  readonly starting: Ahead[];
  readonly ready: Spare[];
  /** Starts a spare. Never throws: a failed start rejects. */
  readonly start: () => Ahead;
}

/** Limits concurrent starts, which could otherwise take all processors if their priority cannot be lowered. */
const STARTS_AT_ONCE_MAX = Math.max(
  1,
  canLowerPriority ? availableParallelism() : Math.floor(availableParallelism() / 2),
);

/**
 * Spare processes, started ahead with the code of their next task. Keeps the most recently used code, up to a total,
 * and drops idle spares.
 */
export class Spares {
  readonly #total: number;
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  /** Kinds of code, most recently used last. */
  readonly #kinds = new Map<string, Kind>();
  /** Number of starting processes, including those already taken. */
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
   * Takes a ready spare, else the first starting one, else null. In any case `refill` starts a replacement.
   */
  async take(key: string, start: () => Ahead): Promise<TaskProcess | null> {
    const kind = this.#touch(key, start);
    for (let spare = kind.ready.shift(); spare !== undefined; spare = kind.ready.shift()) {
      spare.cancelIdle();
      if (spare.process.worker.isLost) continue;
      spare.process.restorePriority();
      return spare.process;
    }
    kind.wanted = Math.min(kind.wanted + 1, this.#total);
    const ahead = kind.starting.shift();
    if (ahead === undefined) return null;
    ahead.raise();
    const process = await ahead.ready.catch(() => null);
    // Its own code may have ended it.
    if (process === null || process.worker.isLost) return null;
    // Threads started in the meantime may still have low priority.
    process.restorePriority();
    return process;
  }

  /** Starts missing spares of a kind. */
  refill(key: string): void {
    const kind = this.#kinds.get(key);
    while (kind !== undefined && !this.#isClosed && heldOf(kind) < kind.wanted) {
      if (this.#starting >= STARTS_AT_ONCE_MAX) return;
      if (this.held >= this.#total && !this.#evictBefore(key)) return;
      void this.#startOne(key, kind);
    }
  }

  /** Ensures that at least one spare exists. */
  warm(key: string, start: () => Ahead): void {
    this.#touch(key, start);
    this.refill(key);
  }

  #touch(key: string, start: () => Ahead): Kind {
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
    // A spare that was taken in the meantime belongs to its task.
    if (at >= 0) {
      kind.starting.splice(at, 1);
      if (process !== null) this.#keep(key, kind, process);
    }
    // Not after a failure, which would repeat immediately; the next request tries again.
    if (process !== null) this.#startDeferred();
  }

  #keep(key: string, kind: Kind, process: TaskProcess): void {
    if (this.#isClosed || this.#kinds.get(key) !== kind) process.kill();
    else {
      const cancelIdle = this.#clock.after(this.#idleMs, () => this.#endIdle(key, kind, process));
      kind.ready.push({ process, cancelIdle });
      // If its code ends it, the next request starts a replacement, because an immediate restart might end as well.
      void process.gone.then(() => this.#remove(kind, process)?.cancelIdle());
    }
  }

  #remove(kind: Kind, process: TaskProcess): Spare | undefined {
    const at = kind.ready.findIndex((spare) => spare.process === process);
    return at < 0 ? undefined : kind.ready.splice(at, 1)[0];
  }

  /**
   * Starts deferred spares, most recently used kind first. Evicts nothing, because two kinds that exceed the total
   * would keep evicting each other.
   */
  #startDeferred(): void {
    for (const [key, kind] of [...this.#kinds].reverse()) {
      if (this.#isClosed || this.#starting >= STARTS_AT_ONCE_MAX || this.held >= this.#total) return;
      if (heldOf(kind) < kind.wanted) void this.#startOne(key, kind);
    }
  }

  #endIdle(key: string, kind: Kind, process: TaskProcess): void {
    this.#remove(kind, process);
    process.kill();
    kind.wanted = Math.max(1, kind.wanted - 1);
    if (heldOf(kind) === 0) this.#kinds.delete(key);
  }

  /** Kills a spare of the least recently used kind. Returns false if only `key` has any. */
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
