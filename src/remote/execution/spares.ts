import { availableParallelism } from 'node:os';

import type { Clock } from '../../runtime/clock.ts';
import type { TaskProcess } from './launcher.ts';

interface Spare {
  readonly process: TaskProcess;
  readonly cancelIdle: () => void;
}

interface Kind {
  /** How many are worth having: one more each time that none was there. */
  wanted: number;
  starting: number;
  readonly ready: Spare[];
  readonly start: () => Promise<TaskProcess>;
}

/** More of them would take the processor from the tasks that run. */
const STARTS_AT_ONCE_MAX = Math.max(1, Math.floor(availableParallelism() / 2));

/**
 * Processes that were started ahead and have loaded nothing. What was asked for last is kept; at most so many are held in
 * all, and none for long without being asked for.
 */
export class Spares {
  readonly #total: number;
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  /** Those asked for last stand last. */
  readonly #kinds = new Map<string, Kind>();
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
    for (const kind of this.#kinds.values()) held += kind.ready.length + kind.starting;
    return held;
  }

  /** One that is ready, or null. Either way another one is started for the next who asks, once `refill` is called. */
  take(key: string, start: () => Promise<TaskProcess>): TaskProcess | null {
    const kind = this.#used(key, start);
    for (let spare = kind.ready.shift(); spare !== undefined; spare = kind.ready.shift()) {
      spare.cancelIdle();
      if (!spare.process.worker.isLost) return spare.process;
    }
    kind.wanted = Math.min(kind.wanted + 1, this.#total);
    return null;
  }

  /** Starts what is missing of a kind. */
  refill(key: string): void {
    const kind = this.#kinds.get(key);
    while (kind !== undefined && !this.#isClosed && kind.ready.length + kind.starting < kind.wanted) {
      if (this.#starting >= STARTS_AT_ONCE_MAX) return;
      if (this.held >= this.#total && !this.#evictBefore(key)) return;
      void this.#startOne(key, kind);
    }
  }

  /** At least one will be there. */
  warm(key: string, start: () => Promise<TaskProcess>): void {
    this.#used(key, start);
    this.refill(key);
  }

  #used(key: string, start: () => Promise<TaskProcess>): Kind {
    const kind = this.#kinds.get(key) ?? { wanted: 1, starting: 0, ready: [], start };
    this.#kinds.delete(key);
    this.#kinds.set(key, kind);
    return kind;
  }

  async #startOne(key: string, kind: Kind): Promise<void> {
    kind.starting += 1;
    this.#starting += 1;
    let process: TaskProcess | null = null;
    try {
      process = await kind.start();
    } catch (error) {
      this.#onError(error);
    }
    kind.starting -= 1;
    this.#starting -= 1;
    // One that fails would fail again at once: the next who asks tries.
    if (process === null) return;
    const started = process;
    if (this.#isClosed || this.#kinds.get(key) !== kind) started.kill();
    else {
      const cancelIdle = this.#clock.after(this.#idleMs, () => this.#endIdle(key, kind, started));
      kind.ready.push({ process, cancelIdle });
    }
    this.#startOwed();
  }

  /**
   * Starts what had to wait for its turn, the last asked for first. Nothing is ended for it: two kinds that do not fit side by
   * side would go on ending each other's.
   */
  #startOwed(): void {
    for (const [key, kind] of [...this.#kinds].reverse()) {
      if (this.#isClosed || this.#starting >= STARTS_AT_ONCE_MAX || this.held >= this.#total) return;
      if (kind.ready.length + kind.starting < kind.wanted) void this.#startOne(key, kind);
    }
  }

  #endIdle(key: string, kind: Kind, process: TaskProcess): void {
    const at = kind.ready.findIndex((spare) => spare.process === process);
    if (at >= 0) kind.ready.splice(at, 1);
    process.kill();
    kind.wanted = Math.max(1, kind.wanted - 1);
    if (kind.ready.length + kind.starting === 0) this.#kinds.delete(key);
  }

  /** Ends a spare of what was asked for longest ago. False where only `key` has any. */
  #evictBefore(key: string): boolean {
    for (const [other, kind] of this.#kinds) {
      if (other === key) continue;
      const spare = kind.ready.shift();
      if (kind.ready.length + kind.starting === 0) this.#kinds.delete(other);
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
