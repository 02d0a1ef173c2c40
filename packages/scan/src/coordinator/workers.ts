import type { Clock } from '@heddle/base/clock';
import { addPackedMetrics, emptyMetrics, mergeMetrics } from '../graph/metrics.ts';
import type { TaskMetrics } from '../result.ts';
import { CONTROL, controlWord, type FromWorker, type WorkerInit } from '../worker/protocol.ts';
import { LOCAL_BYTES_MAX, type StartWorker, threadStarter, WorkerThread } from './worker-thread.ts';

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
  /** Starts a worker in this thread, which small scans need alone. */
  local?: StartWorker | undefined;
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

/** The time after which the worker in this thread is joined by the first thread, which then takes its place. */
const LOCAL_MS_MAX = 100;

/** Accounts of the workers: those of the threads, and after them that of the worker in this thread. */
export function slotsOf(threads: number): number {
  return threads + 1;
}

interface Watch {
  progress: number;
  since: number;
}

/**
 * The workers of one run: threads, up to one per slot, each replaced when it exits early. Before the first of them is
 * ready, a worker in this thread may take small objects.
 */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #startThread: StartWorker;
  readonly #initOf: (slot: number) => WorkerInit;
  readonly #control: Int32Array;
  readonly #events: WorkersEvents;
  readonly #bySlot: WorkerThread[] = [];
  #local: WorkerThread | null = null;
  readonly #watches: Watch[] = [];
  readonly #metrics: readonly TaskMetrics[];
  #hungSlot = -1;
  #workBytes = 0;
  #stopTimer: (() => void) | null = null;
  #isTimed = false;
  #isClosing = false;

  constructor(
    options: WorkersOptions,
    control: Int32Array,
    initOf: (slot: number) => WorkerInit,
    events: WorkersEvents,
  ) {
    this.#options = options;
    this.#startThread = threadStarter(options.entry);
    this.#control = control;
    this.#initOf = initOf;
    this.#events = events;
    this.#metrics = Array.from({ length: slotsOf(options.threads) }, emptyMetrics);
  }

  get all(): readonly WorkerThread[] {
    return this.#local === null ? this.#bySlot : [this.#local, ...this.#bySlot];
  }

  /** Metrics of all workers, as far as reported. */
  get metrics(): TaskMetrics {
    const total = emptyMetrics();
    for (const metrics of this.#metrics) mergeMetrics(total, metrics);
    return total;
  }

  /** Starts the first worker; the others follow once there is work for them. */
  start(): void {
    const { local, threads } = this.#options;
    if (local === undefined) this.#startOne(0);
    else this.#local = this.#begin(local, threads, true);
    this.#startOthersIfWorthIt();
  }

  /** The sizes of objects decide which worker takes them. */
  get needSizes(): boolean {
    return this.#local?.isClosing === false;
  }

  /** Counts an object that was admitted. */
  expect(sizeHint: number): void {
    this.#workBytes += OBJECT_BYTES + Math.max(0, sizeHint);
    this.#startOthersIfWorthIt();
  }

  /** A worker can take objects. */
  ready(worker: WorkerThread): void {
    worker.isReady = true;
    if (this.#isClosing) return;
    if (worker.isLocal) {
      this.#stopTimer = this.#options.clock.after(LOCAL_MS_MAX, () => this.#startFirst());
      return;
    }
    this.#local?.retire();
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#stopTimer?.();
    this.#stopTimer = this.#options.clock.after(WORK_MIN_MS, () => this.#startOthers());
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
    for (const worker of this.all) if (!worker.hasEnded) worker.close();
    this.#reportClosed();
  }

  /** Terminates threads that spend too long in one step; `lost` follows. */
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
    return this.all.reduce((sum, { slot }) => sum + kib(slot) * 1024, 0);
  }

  #currentOf(worker: WorkerThread): number {
    return Atomics.load(this.#control, controlWord(worker.slot, CONTROL.CURRENT)) - 1;
  }

  #startOthersIfWorthIt(): void {
    if (this.#workBytes >= LOCAL_BYTES_MAX) this.#startFirst();
    if (this.#workBytes < (this.#options.work_bytes_min ?? WORK_BYTES_MIN)) return;
    this.#startOthers();
    // For so much work, it would only take time from the threads that start.
    this.#local?.retire();
  }

  #startFirst(): void {
    if (!this.#isClosing && this.#bySlot.length === 0) this.#startOne(0);
  }

  #startOthers(): void {
    if (this.#isClosing) return;
    while (this.#bySlot.length < this.#options.threads) this.#startOne(this.#bySlot.length);
  }

  #startOne(slot: number): void {
    this.#watches[slot] = { progress: -1, since: 0 };
    this.#bySlot[slot] = this.#begin(this.#startThread, slot);
  }

  #begin(start: StartWorker, slot: number, isLocal = false): WorkerThread {
    const events = {
      message: (worker: WorkerThread, message: FromWorker) => this.#events.message(worker, message),
      ended: (worker: WorkerThread, error: unknown) => this.#ended(worker, error),
    };
    return new WorkerThread(start, this.#initOf(slot), events, isLocal);
  }

  #ended(worker: WorkerThread, error: unknown): void {
    worker.hasEnded = true;
    // Its memory is needed no more.
    if (worker.isLocal) this.#local = null;
    if (!worker.hasClosed) {
      const current = this.#currentOf(worker);
      Atomics.store(this.#control, controlWord(worker.slot, CONTROL.CURRENT), 0);
      Atomics.store(this.#control, controlWord(worker.slot, CONTROL.OPEN_KIB), 0);
      const isHung = this.#hungSlot === worker.slot;
      if (isHung) this.#hungSlot = -1;
      const why = error instanceof Error ? error.message : 'it exited without an error';
      this.#events.lost(worker, current, why, isHung);
      if (worker.isLocal) this.#startFirst();
      else if (!this.#isClosing) this.#startOne(worker.slot);
    }
    this.#reportClosed();
  }

  #reportClosed(): void {
    if (this.#isClosing && this.all.every(({ hasEnded }) => hasEnded)) this.#events.allClosed();
  }
}
