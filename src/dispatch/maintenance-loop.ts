import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { Loop } from '../runtime/loop.ts';
import type { Engine, RetentionResult, SweepResult } from '../engine/port.ts';

interface ServiceOptions {
  /** Time between two passes that found little. */
  intervalMs: number;
  clock: Clock;
  log: Logger;
}

export interface MaintenanceLoopOptions extends ServiceOptions {
  engine: Pick<Engine, 'sweep'>;
  /** A pass that touched at least this many rows is followed by the next one at once. */
  busyRows?: number;
  onPass?(result: SweepResult): void;
}

/** A background service: `runOnce` on a loop that can be woken. */
export abstract class Service {
  readonly #loop: Loop;

  constructor(name: string, { intervalMs, clock, log }: ServiceOptions) {
    this.#loop = new Loop({ name, intervalMs, clock, log, runOnce: () => this.runOnce() });
  }

  abstract runOnce(): Promise<'again' | 'idle'>;

  start(): void {
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }
}

/** Promotes delayed tasks, requeues lost claims, times out what is overdue, relays between workflows: once a second. */
export class MaintenanceLoop extends Service {
  readonly #options: MaintenanceLoopOptions;

  constructor(options: MaintenanceLoopOptions) {
    super('maintenance', options);
    this.#options = options;
  }

  override async runOnce(): Promise<'again' | 'idle'> {
    const { engine, busyRows = 500 } = this.#options;
    const found = await engine.sweep();
    this.#options.onPass?.(found);
    return found.promoted + found.requeued + found.timed_out + found.relayed >= busyRows ? 'again' : 'idle';
  }
}

export interface RetentionLoopOptions extends ServiceOptions {
  engine: Pick<Engine, 'retain'>;
  /** Rows that one pass may move or delete. */
  limit: number;
  onPass?(result: RetentionResult): void;
}

/** Moves ended workflows to the archive and deletes old ones, in sets, in the background. */
export class RetentionLoop extends Service {
  readonly #options: RetentionLoopOptions;

  constructor(options: RetentionLoopOptions) {
    super('retention', options);
    this.#options = options;
  }

  override async runOnce(): Promise<'again' | 'idle'> {
    const { engine, limit } = this.#options;
    const { archived, deleted } = await engine.retain(limit);
    this.#options.onPass?.({ archived, deleted });
    return Math.max(archived, deleted) * 2 >= limit ? 'again' : 'idle';
  }
}
