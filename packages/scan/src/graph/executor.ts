import { Fifo } from '@heddle/base/fifo';
import { dropStep, type Enumerable, type EnumerateStep, type FetchSyncStep } from './step.ts';
import type { ScanChunkStep, ScanStep } from './step.ts';

/**
 * Null: the step is done, and its resources were passed on or released. A step: it cannot continue yet; run it again
 * later.
 */
export type StepResult<S extends Enumerable> = ScanStep<S> | null;

/** One handler per kind of step. Waits are returned as promises, which reject only on a defect. */
export interface StepHandlers<S extends Enumerable> {
  enumerate(step: EnumerateStep<S>): StepResult<S> | Promise<StepResult<S>>;
  fetchSync(step: FetchSyncStep): StepResult<S> | Promise<StepResult<S>>;
  scan(step: ScanChunkStep): StepResult<S> | Promise<StepResult<S>>;
}

export interface ExecutorEvents {
  /** Called whenever a step may be able to run again, even while the executor runs. */
  onReady(): void;
  /** A handler threw: a defect. Its step is lost, so the run cannot complete. */
  onDefect(error: unknown): void;
}

/**
 * Runs the steps of one thread, first in, first out. A step that finds no permit, buffer or capacity returns to the
 * end of the queue; once every queued step has done so without progress, nothing runs until a wake, a result or a new
 * step, so a blocked executor does not spin.
 */
export class Executor<S extends Enumerable> {
  readonly #handlers: StepHandlers<S>;
  readonly #events: ExecutorEvents;
  readonly #queue = new Fifo<ScanStep<S>>();
  /** Consecutive steps without progress. */
  #stalled = 0;
  #pendingCount = 0;
  #aborted = false;

  constructor(handlers: StepHandlers<S>, events: ExecutorEvents) {
    this.#handlers = handlers;
    this.#events = events;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** Steps whose promise is pending. */
  get underWay(): number {
    return this.#pendingCount;
  }

  get isAborted(): boolean {
    return this.#aborted;
  }

  /** True if steps are waiting and none of them can proceed by itself. */
  get isStalled(): boolean {
    return this.#queue.length > 0 && this.#stalled >= this.#queue.length;
  }

  get canRun(): boolean {
    return this.#queue.length > this.#stalled;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#pendingCount === 0;
  }

  /** Takes ownership of a step. After an abort it is dropped at once. */
  spawn(step: ScanStep<S>): void {
    if (this.#aborted) {
      dropStep(step);
      return;
    }
    this.#queue.push(step);
    this.#stalled = 0;
  }

  /** Signals that permits, buffers or capacity became free: waiting steps are retried. */
  wake(): void {
    this.#stalled = 0;
    this.#events.onReady();
  }

  /** Runs one step up to its first wait. Returns false if none can run. */
  runOne(): boolean {
    if (!this.canRun) return false;
    const step = this.#queue.shift()!;
    try {
      const result = this.#dispatch(step);
      if (result instanceof Promise) this.#await(result);
      else this.#settle(result);
    } catch (error) {
      this.#events.onDefect(error);
    }
    return true;
  }

  /** Drops every queued step; pending ones are dropped when they resolve, and new ones at once. */
  abort(): void {
    this.#aborted = true;
    for (let step = this.#queue.shift(); step !== undefined; step = this.#queue.shift()) dropStep(step);
    this.#stalled = 0;
  }

  #dispatch(step: ScanStep<S>): StepResult<S> | Promise<StepResult<S>> {
    switch (step.kind) {
      case 'fetch_sync':
        return this.#handlers.fetchSync(step);
      case 'scan':
        return this.#handlers.scan(step);
      case 'enumerate':
        return this.#handlers.enumerate(step);
    }
  }

  #settle(result: StepResult<S>): void {
    if (result === null) {
      this.#stalled = 0;
    } else if (this.#aborted) {
      dropStep(result);
    } else {
      this.#queue.push(result);
      this.#stalled += 1;
    }
  }

  #await(result: Promise<StepResult<S>>): void {
    this.#pendingCount += 1;
    // The step made progress, so steps that waited for it are worth retrying.
    this.#stalled = 0;
    result.then(
      (settled) => {
        this.#pendingCount -= 1;
        this.#settle(settled);
        this.#events.onReady();
      },
      (error: unknown) => {
        this.#pendingCount -= 1;
        this.#events.onDefect(error);
        this.#events.onReady();
      },
    );
  }
}
