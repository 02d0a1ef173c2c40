import type { Commit } from '../result.ts';
import type { ObjectBatch } from './protocol.ts';

export interface PendingObject {
  index: number;
  source: number;
  path: string;
  locator: string;
  size_hint: number;
  commit: Commit | undefined;
}

/** A queue of received objects that were not begun; records are created when they are taken. */
export class PendingObjects {
  #batches: ObjectBatch[] = [];
  /** Objects taken from the first batch. */
  #taken = 0;
  #length = 0;
  #first: PendingObject | null = null;

  get length(): number {
    return this.#length;
  }

  get first(): PendingObject | null {
    return (this.#first ??= this.#read());
  }

  add(batch: ObjectBatch): void {
    this.#batches.push(batch);
    this.#length += batch.index.length;
  }

  removeFirst(): void {
    this.#first = null;
    this.#length -= 1;
    this.#taken += 1;
    if (this.#taken < this.#batches[0]!.index.length) return;
    this.#batches.shift();
    this.#taken = 0;
  }

  /** Removes all objects and returns their numbers. */
  removeAll(): number[] {
    const all = this.#batches.flatMap(({ index }, i) => (i === 0 ? index.slice(this.#taken) : index));
    this.#batches = [];
    this.#taken = 0;
    this.#length = 0;
    this.#first = null;
    return all;
  }

  #read(): PendingObject | null {
    const batch = this.#batches[0];
    if (batch === undefined) return null;
    const i = this.#taken;
    return {
      index: batch.index[i]!,
      source: batch.source[i]!,
      path: batch.path[i]!,
      locator: batch.locator[i]!,
      size_hint: batch.size_hint[i]!,
      commit: batch.commit?.[i],
    };
  }
}
