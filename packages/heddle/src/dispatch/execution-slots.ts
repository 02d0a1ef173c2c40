import type { Clock } from '@heddle/base/clock';
import { finishesWithin } from '@heddle/base/finishes-within';
import { FetchAhead } from './fetch-ahead.ts';

/** Longest run of tasks that end at once before other work proceeds, milliseconds. */
const BURST_MS = 10;
const TASKS_BETWEEN_CLOCK_READS = 64;

export interface ExecutionSlotsOptions {
  concurrency: number;
  /** Maximum number of tasks to fetch ahead. */
  aheadMax: number;
  clock: Clock;
  running: () => number;
  /** Starts a waiting task: `running`, `ended` if it ended at once, or `none` if none may start. */
  startNext: () => 'running' | 'ended' | 'none';
  /** Called when tasks ended, so that more can be fetched. */
  onEnded: () => void;
  isIdle: () => boolean;
}

/** Starts waiting tasks of a worker while handlers are free, and measures how many are worth fetching ahead. */
export class ExecutionSlots {
  readonly #options: ExecutionSlotsOptions;
  readonly #ahead: FetchAhead;
  #isFilling = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: ExecutionSlotsOptions) {
    this.#options = options;
    this.#ahead = new FetchAhead(options.aheadMax, options.clock.monotonic());
  }

  /** Tasks to hold beyond those that run. */
  get ahead(): number {
    return this.#ahead.tasks;
  }

  /** Starts waiting tasks while handlers are free. */
  fill(): void {
    if (this.#isFilling) return;
    this.#isFilling = true;
    const { clock, concurrency, running, startNext } = this.#options;
    const startedAt = clock.monotonic();
    let ended = 0;
    for (let started = 1; running() < concurrency; started += 1) {
      const state = startNext();
      if (state === 'none') break;
      if (state === 'ended') ended += 1;
      if (started % TASKS_BETWEEN_CLOCK_READS !== 0 || clock.monotonic() - startedAt < BURST_MS) continue;
      clock.after(0, () => this.fill());
      break;
    }
    this.#isFilling = false;
    if (ended > 0) this.noteEnded(ended);
  }

  noteEnded(count: number): void {
    this.#ahead.noteEnded(count, this.#options.clock.monotonic());
    this.#options.onEnded();
    if (!this.#options.isIdle()) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Resolves when the worker is idle, or after `ms`. */
  async idleWithin(ms: number): Promise<void> {
    if (this.#options.isIdle()) return;
    await finishesWithin(this.#options.clock, ms, new Promise<void>((resolve) => this.#whenIdle.push(resolve)));
  }
}
