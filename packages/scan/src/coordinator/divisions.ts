import { Division, type DividedObject } from '../worker/division.ts';
import type { FromWorker } from '../worker/protocol.ts';
import type { WorkerThread } from './worker-thread.ts';

/** Has idle worker threads help with the large objects of others. */
export class Divisions {
  readonly #divided = new Map<number, { owner: WorkerThread; object: DividedObject }>();
  /** The number of the object that a thread helps with. */
  readonly #helpers = new Map<WorkerThread, number>();

  receive(worker: WorkerThread, message: Extract<FromWorker, { type: 'divided' | 'segment' | 'helped' }>): void {
    switch (message.type) {
      case 'divided':
        this.#divided.set(message.object.index, { owner: worker, object: message.object });
        break;
      case 'segment':
        this.#divided.get(message.object.index)?.owner.post(message);
        break;
      case 'helped':
        this.#helpers.delete(worker);
    }
  }

  completed(index: number): void {
    this.#divided.delete(index);
  }

  /** Assigns threads that have nothing else to do to the objects with the fewest helpers. */
  assign(workers: readonly WorkerThread[]): void {
    if (this.#divided.size === 0) return;
    for (const worker of workers) {
      if (!worker.isReady || worker.isClosing || worker.hasEnded) continue;
      if (worker.outstanding.size > 0 || this.#helpers.has(worker)) continue;
      const open = [...this.#divided.values()].filter(({ object }) => !new Division(object).isComplete);
      const [first] = open.sort((a, b) => this.#helpersOf(a.object) - this.#helpersOf(b.object));
      if (first === undefined) return;
      this.#helpers.set(worker, first.object.index);
      worker.post({ type: 'help', object: first.object });
    }
  }

  /** A worker thread failed. */
  lost(worker: WorkerThread): void {
    const helped = this.#helpers.get(worker);
    this.#helpers.delete(worker);
    if (helped !== undefined) this.#divided.get(helped)?.owner.post({ type: 'helper_lost', index: helped });
    for (const [index, { owner, object }] of this.#divided) {
      if (owner !== worker) continue;
      new Division(object).end();
      this.#divided.delete(index);
    }
  }

  /** No thread waits for segments any more. */
  abort(): void {
    for (const { object } of this.#divided.values()) new Division(object).end();
  }

  #helpersOf({ index }: DividedObject): number {
    return [...this.#helpers.values()].filter((helped) => helped === index).length;
  }
}
