import { Fifo } from '@heddle/base/fifo';
import type { CountBudget } from '../graph/count-budget.ts';
import type { ObjectFrontier } from '../graph/frontier.ts';
import type { ObjectBatch } from '../worker/protocol.ts';
import type { AdmittedObject, NumberedObject } from './numbered-object.ts';
import type { WorkerThread } from './worker-thread.ts';

const BATCH_MIN = 1;
const BATCH_MAX = 512;

/** Sends admitted objects to worker threads in order, keeping every thread busy without letting one hoard them. */
export class Dispatcher {
  readonly #budget: CountBudget;
  readonly #frontier: ObjectFrontier;
  readonly #batchMax: number;
  readonly #queue = new Fifo<AdmittedObject>();
  /** Objects returned by a worker: older than those queued. */
  #returned: AdmittedObject[] = [];

  constructor(budget: CountBudget, frontier: ObjectFrontier, threads: number) {
    this.#budget = budget;
    this.#frontier = frontier;
    // Two batches per thread use the whole frontier.
    this.#batchMax = Math.min(BATCH_MAX, Math.max(BATCH_MIN, Math.floor(budget.capacity / (threads * 2))));
  }

  get waiting(): number {
    return this.#queue.length + this.#returned.length;
  }

  add(admitted: AdmittedObject): void {
    this.#queue.push(admitted);
  }

  /**
   * Sends waiting objects to the workers that can take more.
   *
   * @param isComplete no further object can be admitted for now, so small batches are sent too
   */
  dispatch(workers: readonly WorkerThread[], isComplete: boolean): void {
    while (this.waiting > 0) {
      const ready = workers.filter((worker) => this.#hasCapacity(worker));
      // The least loaded worker comes first.
      ready.sort((a, b) => a.outstanding.size - b.outstanding.size);
      const worker = ready[0];
      if (worker === undefined) return;
      const isIdle = worker.outstanding.size === 0;
      if (!isIdle && !isComplete && this.waiting < this.#batchMax) return;
      this.#send(worker, Math.min(this.#batchMax, Math.ceil(this.waiting / ready.length)));
    }
    if (isComplete) this.#shareOut(workers);
  }

  /** If a worker has nothing to do, asks the one with the most objects for those that it has not begun. */
  #shareOut(workers: readonly WorkerThread[]): void {
    if (!workers.some((worker) => this.#hasCapacity(worker) && worker.outstanding.size === 0)) return;
    const asked = workers.filter((worker) => worker.mayHandBack && worker.outstanding.size > 1);
    asked.sort((a, b) => b.outstanding.size - a.outstanding.size)[0]?.askBack();
  }

  /** Sends only the object that all results wait for, if no worker has it. */
  dispatchOldest(workers: readonly WorkerThread[], oldest: number): void {
    const isFirst = (admitted: AdmittedObject | undefined): boolean => admitted?.object.index === oldest;
    if (this.waiting === 0) return;
    if (!isFirst(this.#returned[0])) {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#returned.push(next);
      this.#returned.sort((a, b) => a.object.index - b.object.index);
    }
    // A worker busy with a long object may itself be waiting for this one.
    const able = workers.filter((worker) => this.#isAble(worker));
    const worker = able.sort((a, b) => a.outstanding.size - b.outstanding.size)[0];
    if (worker !== undefined && isFirst(this.#returned[0])) this.#send(worker, 1);
  }

  /** Takes back objects that a worker did not begin. */
  takeBack(worker: WorkerThread, indexes: readonly number[]): void {
    const back: AdmittedObject[] = [];
    for (const index of indexes) {
      const object = worker.outstanding.get(index);
      if (object === undefined) continue;
      worker.outstanding.delete(index);
      back.push({ object, reference: this.#frontier.adopt(descriptorOf(object), 0) });
    }
    this.#budget.move(worker.slot + 1, 0, back.length);
    this.#returned = [...back, ...this.#returned].sort((a, b) => a.object.index - b.object.index);
  }

  /** Drops all waiting objects. */
  abort(): void {
    for (let next = this.#take(); next !== undefined; next = this.#take()) next.reference[Symbol.dispose]();
  }

  #hasCapacity(worker: WorkerThread): boolean {
    return this.#isAble(worker) && worker.busyWith === null && worker.outstanding.size <= this.#batchMax;
  }

  #isAble({ isReady, isClosing, hasEnded, objectBytesMax }: WorkerThread): boolean {
    return isReady && !isClosing && !hasEnded && this.#nextBytes <= objectBytesMax;
  }

  /** Bytes of the object that is sent next. */
  get #nextBytes(): number {
    return (this.#returned[0] ?? this.#queue.peek())?.object.size_hint ?? 0;
  }

  #send(worker: WorkerThread, count: number): void {
    const objects: NumberedObject[] = [];
    while (objects.length < count && this.#nextBytes <= worker.objectBytesMax) {
      const next = this.#take();
      if (next === undefined) break;
      next.reference.detach();
      objects.push(next.object);
      worker.outstanding.set(next.object.index, next.object);
    }
    this.#budget.move(0, worker.slot + 1, objects.length);
    worker.post(batchOf(objects));
  }

  #take(): AdmittedObject | undefined {
    return this.#returned.shift() ?? this.#queue.shift();
  }
}

export function descriptorOf(object: NumberedObject): Parameters<ObjectFrontier['adopt']>[0] {
  const { path, size_hint, source, index } = object;
  return { path, size_hint, object_id: { source, idx: index, entry: 0 }, source_id: source };
}

function batchOf(objects: readonly NumberedObject[]): ObjectBatch {
  return {
    type: 'batch',
    index: objects.map(({ index }) => index),
    source: objects.map(({ source }) => source),
    path: objects.map(({ path }) => path),
    locator: objects.map(({ locator }) => locator),
    size_hint: objects.map(({ size_hint }) => size_hint),
    commit: objects.some(({ commit }) => commit !== undefined) ? objects.map(({ commit }) => commit) : null,
  };
}
