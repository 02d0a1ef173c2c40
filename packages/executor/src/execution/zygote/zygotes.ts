import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { StartedProcess } from '../starter/starter.ts';
import type { Zygote } from './zygote.ts';

interface Kept {
  readonly zygote: Promise<Zygote>;
  cancelIdle: () => void;
}

/** Limit of remembered kinds that have started once. */
const SEEN_MAX = 1_000;

/** The zygotes of a tier: one for each kind of process, most recently used last. */
export class Zygotes {
  readonly #max: number;
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #kept = new Map<string, Kept>();
  /** Kinds that have started a process: the first one does not pay for a zygote that may fork no other. */
  readonly #seen = new Set<string>();
  readonly #retiring = new Set<Promise<void>>();
  #hasForked = false;
  #isEnabled = true;

  constructor(max: number, idleMs: number, clock: Clock, log: Logger) {
    this.#max = max;
    this.#idleMs = idleMs;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Forks a process of a kind. @returns null if it has to be started otherwise
   *
   * @param start starts a zygote of this kind
   */
  async fork(key: string, start: () => Promise<Zygote>, user: number | null): Promise<StartedProcess | null> {
    if (!this.#isEnabled || this.#isFirst(key)) return null;
    try {
      const zygote = await this.#zygoteOf(key, start);
      // Another kind may have taken its place while it started.
      if (zygote.isRetired) return null;
      const forked = await zygote.fork(user);
      this.#hasForked = true;
      return forked;
    } catch (error) {
      this.#handleFailure(key, error);
      return null;
    }
  }

  #isFirst(key: string): boolean {
    if (this.#seen.has(key)) return false;
    if (this.#seen.size >= SEEN_MAX) this.#seen.clear();
    this.#seen.add(key);
    return true;
  }

  async #zygoteOf(key: string, start: () => Promise<Zygote>): Promise<Zygote> {
    const kept = this.#kept.get(key) ?? { zygote: started(start), cancelIdle: () => undefined };
    kept.cancelIdle();
    kept.cancelIdle = this.#clock.after(this.#idleMs, () => this.#retire(key));
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#max) this.#retire(oldest!);
    return kept.zygote;
  }

  #handleFailure(key: string, error: unknown): void {
    // Not while the tier closes, nor again.
    if (!this.#isEnabled) return;
    this.#retire(key);
    if (this.#hasForked) this.#log.warn({ err: error }, 'could not fork a task process; starting a new one');
    else {
      this.#isEnabled = false;
      this.#log.warn(
        { err: error },
        'this machine cannot fork task processes; starting each one by itself, which is slower',
      );
    }
  }

  /** Stops using a zygote; it ends with the last process that it has forked. */
  #retire(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    kept.cancelIdle();
    const ended = kept.zygote.then((zygote) => zygote.retire()).catch(() => undefined);
    this.#retiring.add(ended);
    void ended.then(() => this.#retiring.delete(ended));
  }

  /** @returns once all zygotes have ended, which no process may outlive */
  async close(): Promise<void> {
    this.#isEnabled = false;
    for (const key of [...this.#kept.keys()]) this.#retire(key);
    await Promise.all(this.#retiring);
  }
}

/** @returns once it can fork */
async function started(start: () => Promise<Zygote>): Promise<Zygote> {
  const zygote = await start();
  await zygote.ready;
  return zygote;
}
