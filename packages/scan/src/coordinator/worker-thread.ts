import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';

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

export interface WorkerEvents {
  message(worker: WorkerThread, message: FromWorker): void;
  /** The thread ended; `error` if it threw. */
  ended(worker: WorkerThread, error: unknown): void;
}

/** A thread that loads its code, and then waits for its startup data. */
export interface StartedThread {
  worker: Worker;
  init: MessagePort;
}

export function startThread(slot: number, entry = WORKER_ENTRY): StartedThread {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(entry, {
    workerData: port2,
    transferList: [port2],
    name: `scan ${slot}`,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    // At thread exit Node would close a closed socket's descriptor again, which may belong to another socket by then.
    trackUnmanagedFds: false,
  });
  return { worker, init: port1 };
}

/** One worker thread with the objects assigned to it. */
export class WorkerThread {
  readonly slot: number;
  readonly outstanding = new Map<number, NumberedObject>();
  /** An object that takes long; nothing is queued behind it. */
  busyWith: number | null = null;
  isReady = false;
  isClosing = false;
  /** True after the `closed` message: the exit is expected. */
  hasClosed = false;
  hasEnded = false;
  /** Metrics that the thread reported for completed objects. */
  readonly sent: TaskMetrics = emptyMetrics();
  readonly #worker: Worker;

  constructor(started: StartedThread, init: WorkerInit, events: WorkerEvents) {
    this.slot = init.slot;
    let failure: unknown;
    this.#worker = started.worker;
    started.init.postMessage(init);
    this.#worker.on('message', (message: FromWorker) => events.message(this, message));
    this.#worker.on('error', (error) => {
      failure = error;
    });
    this.#worker.on('exit', () => events.ended(this, failure));
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  close(): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.post({ type: 'close' });
  }

  /** Terminates the thread at any point; `ended` follows. */
  kill(): void {
    void this.#worker.terminate();
  }
}
