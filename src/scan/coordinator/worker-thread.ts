import { Worker } from 'node:worker_threads';

import { emptyMetrics } from '../graph/metrics.ts';
import type { TaskMetrics } from '../result.ts';
import type { FromWorker, ToWorker, WorkerInit } from '../worker/protocol.ts';
import type { NumberedObject } from './numbered-object.ts';

export const WORKER_ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? '../worker/worker.ts' : '../worker/worker.js',
  import.meta.url,
);

/** Of what a thread makes, nearly all is of no use a moment later: a small nursery costs little time and saves memory. */
const YOUNG_GENERATION_MB = 12;

export interface WorkerEvents {
  message(worker: WorkerThread, message: FromWorker): void;
  /** It ended; `error` where something threw in it. */
  ended(worker: WorkerThread, error: unknown): void;
}

/** One worker thread, with the objects that are with it. */
export class WorkerThread {
  readonly slot: number;
  readonly outstanding = new Map<number, NumberedObject>();
  /** An object that takes long; nothing is sent that would wait behind it. */
  busyWith: number | null = null;
  isReady = false;
  isClosing = false;
  /** It said `closed`: its end is as it should be. */
  hasClosed = false;
  hasEnded = false;
  /** What it said of the objects that it is done with. */
  readonly sent: TaskMetrics = emptyMetrics();
  readonly #worker: Worker;

  constructor(entry: URL, init: WorkerInit, events: WorkerEvents) {
    this.slot = init.slot;
    let failure: unknown;
    this.#worker = new Worker(entry, {
      workerData: init,
      name: `scan ${init.slot}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
      // Node would close once more, when the thread ends, what a socket of its has closed: somebody else's by then.
      trackUnmanagedFds: false,
    });
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

  /** Ends it wherever it is; `ended` follows. */
  kill(): void {
    void this.#worker.terminate();
  }
}
