import { Worker } from 'node:worker_threads';

import { emptyMetrics } from '../graph/metrics.ts';
import type { TaskMetrics } from '../result.ts';
import type { FromWorker, ToWorker, WorkerInit } from '../worker/protocol.ts';
import type { NumberedObject } from './numbered-object.ts';

const WORKER_ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? '../worker/worker.ts' : '../worker/worker.js',
  import.meta.url,
);

/** Nearly all allocations of a thread are short-lived: a small nursery costs little time and saves memory. */
const YOUNG_GENERATION_MB = 12;

/** Larger objects are left to threads, since nothing ends a step of the coordinator's own thread that hangs. */
export const LOCAL_BYTES_MAX = 8 * 1024 * 1024;

export interface WorkerEvents {
  message(worker: WorkerThread, message: FromWorker): void;
  /** The thread ended; `error` if it threw. */
  ended(worker: WorkerThread, error: unknown): void;
}

/** What runs a worker: a thread, or a part of the coordinator's own. */
export interface StartedWorker {
  post(message: ToWorker): void;
  /** Ends it at any point. */
  terminate(): void;
}

export type StartWorker = (
  init: WorkerInit,
  events: { message(message: FromWorker): void; ended(error: unknown): void },
) => StartedWorker;

/** Returns what starts a thread. */
export function threadStarter(entry = WORKER_ENTRY): StartWorker {
  return (init, events) => {
    const worker = new Worker(entry, {
      workerData: init,
      name: `scan ${init.slot}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
      // At thread exit Node would close a closed socket's descriptor again, which may belong to another socket by then.
      trackUnmanagedFds: false,
    });
    let failure: unknown;
    worker.on('message', (message: FromWorker) => events.message(message));
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => events.ended(failure));
    return { post: (message) => worker.postMessage(message), terminate: () => void worker.terminate() };
  };
}

/** One worker thread with the objects assigned to it. */
export class WorkerThread {
  readonly slot: number;
  readonly outstanding = new Map<number, NumberedObject>();
  /** It works in the coordinator's own thread. */
  readonly isLocal: boolean;
  /** An object that takes long; nothing is queued behind it. */
  busyWith: number | null = null;
  /** It was sent objects since it was asked to hand back those that it has not begun. */
  #mayHandBack = false;
  isReady = false;
  isClosing = false;
  /** True after the `closed` message: the exit is expected. */
  hasClosed = false;
  hasEnded = false;
  /** Metrics that the thread reported for completed objects. */
  readonly sent: TaskMetrics = emptyMetrics();
  readonly #worker: StartedWorker;

  constructor(start: StartWorker, init: WorkerInit, events: WorkerEvents, isLocal = false) {
    this.slot = init.slot;
    this.isLocal = isLocal;
    this.#worker = start(init, {
      message: (message) => events.message(this, message),
      ended: (error) => events.ended(this, error),
    });
  }

  get objectBytesMax(): number {
    return this.isLocal ? LOCAL_BYTES_MAX : Infinity;
  }

  get mayHandBack(): boolean {
    return this.#mayHandBack && !this.isClosing && !this.hasEnded;
  }

  post(message: ToWorker): void {
    if (message.type === 'batch') this.#mayHandBack = true;
    this.#worker.post(message);
  }

  /** Asks for the objects that it has not begun. */
  askBack(): void {
    this.#mayHandBack = false;
    this.post({ type: 'hand_back' });
  }

  close(): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.post({ type: 'close' });
  }

  /** Hands back what it has not begun, and closes. */
  retire(): void {
    if (this.isClosing) return;
    this.askBack();
    this.close();
  }

  /** Terminates the thread at any point; `ended` follows. */
  kill(): void {
    this.#worker.terminate();
  }
}
