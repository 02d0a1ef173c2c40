import type { Clock } from '@heddle/base/clock';
import { addPackedMetrics, emptyMetrics, mergeMetrics } from '../graph/metrics.ts';
import type { TaskMetrics } from '../result.ts';
import { CONTROL, controlWord, type FromWorker, type WorkerInit } from '../worker/protocol.ts';
import { type StartedThread, startThread, WorkerThread } from './worker-thread.ts';

export interface WorkersEvents {
  message(worker: WorkerThread, message: FromWorker): void;
  /** A worker exited unexpectedly: `current` is the number of the object it was working on, -1 for none. */
  lost(worker: WorkerThread, current: number, why: string, hung: boolean): void;
  /** The last worker exited as expected. */
  allClosed(): void;
}

export interface WorkersOptions {
  threads: number;
  entry?: URL | undefined;
  /** A thread that was started ahead, for the first slot. */
  first?: StartedThread | undefined;
  /** A step that takes longer counts as hung. */
  step_ms_max: number;
  clock: Clock;
  /** Bytes of work after which all threads start; 0: at once. */
  work_bytes_min?: number | undefined;
}

/** Work that keeps one thread busy for as long as another one takes to start: bytes, and what an object adds to them. */
const WORK_BYTES_MIN = 64 * 1024 * 1024;
const OBJECT_BYTES = 32 * 1024;

/** Archives and slow sources are more work than their bytes: the time after which they are worth all threads. */
const WORK_MIN_MS = 200;

interface Watch {
  progress: number;
  since: number;
}

/** The worker threads of one run: up to one per slot, replaced when it exits early. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #initOf: (slot: number) => WorkerInit;
  readonly #control: Int32Array;
  readonly #events: WorkersEvents;
  readonly #bySlot: WorkerThread[] = [];
  readonly #watches: Watch[] = [];
  readonly #metrics: TaskMetrics[] = [];
  #hungSlot = -1;
  #workBytes = 0;
  #stopTimer: (() => void) | null = null;
  #isClosing = false;

  constructor(
    options: WorkersOptions,
    control: Int32Array,
    initOf: (slot: number) => WorkerInit,
    events: WorkersEvents,
  ) {
    this.#options = options;
    this.#control = control;
    this.#initOf = initOf;
    this.#events = events;
  }

  get all(): readonly WorkerThread[] {
    return this.#bySlot;
  }

  /** Metrics of all workers, as far as reported. */
  get metrics(): TaskMetrics {
    const total = emptyMetrics();
    for (const metrics of this.#metrics) mergeMetrics(total, metrics);
    return total;
  }

  /** Starts the first thread; the others follow once there is work for them. */
  start(): void {
    this.#startOne(0);
    this.#startOthersIfWorthIt();
  }

  /** Counts an object that was admitted. */
  expect(sizeHint: number): void {
    this.#workBytes += OBJECT_BYTES + Math.max(0, sizeHint);
    this.#startOthersIfWorthIt();
  }

  /** A thread can take objects. */
  ready(worker: WorkerThread): void {
    worker.isReady = true;
    if (this.#isClosing) return;
    this.#stopTimer ??= this.#options.clock.after(WORK_MIN_MS, () => this.#startOthers());
  }

  /** Counts an object that a worker completed. */
  count(worker: WorkerThread, packed: Float64Array, start: number): void {
    addPackedMetrics(this.#metrics[worker.slot]!, packed, start);
  }

  /** Adds a worker's own total, including interrupted work. */
  countFinally(worker: WorkerThread, sent: TaskMetrics, total: TaskMetrics): void {
    const metrics = this.#metrics[worker.slot]!;
    for (const field of Object.keys(total) as (keyof TaskMetrics)[]) metrics[field] += total[field] - sent[field];
  }

  close(): void {
    this.#isClosing = true;
    this.#stopTimer?.();
    for (const worker of this.#bySlot) if (!worker.hasEnded) worker.close();
    this.#reportClosed();
  }

  /** Terminates workers that spend too long in one step; `lost` follows. */
  watch(): void {
    const now = this.#options.clock.monotonic();
    for (const worker of this.#bySlot) {
      const watch = this.#watches[worker.slot]!;
      const progress = Atomics.load(this.#control, controlWord(worker.slot, CONTROL.PROGRESS));
      const isBusy = worker.isReady && !worker.hasEnded && this.#currentOf(worker) >= 0;
      if (!isBusy || progress !== watch.progress) {
        watch.progress = progress;
        watch.since = now;
      } else if (now - watch.since > this.#options.step_ms_max) {
        this.#hungSlot = worker.slot;
        watch.since = now;
        worker.kill();
      }
    }
  }

  /** Bytes scanned of objects that are not completed. */
  get openBytes(): number {
    const kib = (slot: number): number => Atomics.load(this.#control, controlWord(slot, CONTROL.OPEN_KIB));
    return this.#bySlot.reduce((sum, { slot }) => sum + kib(slot) * 1024, 0);
  }

  /** Terminates all workers, whatever they are doing. */
  kill(): void {
    for (const worker of this.#bySlot) worker.kill();
  }

  #currentOf(worker: WorkerThread): number {
    return Atomics.load(this.#control, controlWord(worker.slot, CONTROL.CURRENT)) - 1;
  }

  #startOthersIfWorthIt(): void {
    if (this.#workBytes >= (this.#options.work_bytes_min ?? WORK_BYTES_MIN)) this.#startOthers();
  }

  #startOthers(): void {
    if (this.#isClosing) return;
    while (this.#bySlot.length < this.#options.threads) this.#startOne(this.#bySlot.length);
  }

  #startOne(slot: number): void {
    this.#watches[slot] = { progress: -1, since: 0 };
    this.#metrics[slot] ??= emptyMetrics();
    const { entry, first } = this.#options;
    // One that takes the place of another is always new.
    const isFirst = slot === 0 && this.#bySlot[slot] === undefined;
    const started = (isFirst ? first : undefined) ?? startThread(slot, entry);
    this.#bySlot[slot] = new WorkerThread(started, this.#initOf(slot), {
      message: (worker, message) => this.#events.message(worker, message),
      ended: (worker, error) => this.#ended(worker, error),
    });
  }

  #ended(worker: WorkerThread, error: unknown): void {
    worker.hasEnded = true;
    if (!worker.hasClosed) {
      const current = this.#currentOf(worker);
      Atomics.store(this.#control, controlWord(worker.slot, CONTROL.CURRENT), 0);
      Atomics.store(this.#control, controlWord(worker.slot, CONTROL.OPEN_KIB), 0);
      const isHung = this.#hungSlot === worker.slot;
      if (isHung) this.#hungSlot = -1;
      const why = error instanceof Error ? error.message : 'it exited without an error';
      this.#events.lost(worker, current, why, isHung);
      if (!this.#isClosing) this.#startOne(worker.slot);
    }
    this.#reportClosed();
  }

  #reportClosed(): void {
    if (this.#isClosing && this.#bySlot.every(({ hasEnded }) => hasEnded)) this.#events.allClosed();
  }
}
