import { workerQueueOf } from '@heddle/core/domain/message';
import type { MessageQueue } from '@heddle/core/queue/port';
import type { Logger } from '@heddle/base/log';
import type { KindDefinition } from '@heddle/kit';
import type { Attempt } from './attempt.ts';
import { Settlement } from './settlement.ts';

/** A worker's tasks of one kind: the queue it reads, the backlog, and the number of running handlers. */
export class KindLane {
  readonly definition: KindDefinition;
  readonly queue: string;
  /** Maximum concurrent handlers. */
  readonly limit: number;
  readonly settlement: Settlement;
  readonly backlog: Attempt[] = [];
  running = 0;
  #wake: (() => void) | undefined;

  constructor(definition: KindDefinition, concurrency: number, queue: MessageQueue, log: Logger) {
    this.definition = definition;
    this.queue = workerQueueOf(definition.name);
    this.limit = Math.min(definition.concurrency ?? concurrency, concurrency);
    this.settlement = new Settlement(this.queue, queue, log);
  }

  get mayStart(): boolean {
    return this.backlog.length > 0 && this.running < this.limit;
  }

  /** Resolves when `wake` is called, or the signal aborts. */
  async untilWoken(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const woken = Promise.withResolvers<undefined>();
    const wake = (): void => woken.resolve(undefined);
    this.#wake = wake;
    signal.addEventListener('abort', wake, { once: true });
    await woken.promise;
    signal.removeEventListener('abort', wake);
  }

  wake(): void {
    this.#wake?.();
  }
}
