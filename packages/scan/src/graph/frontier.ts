import type { CountBudget } from './count-budget.ts';
import { ObjectContext, ObjectRef, type ObjectDescriptor } from './object.ts';

/**
 * The bounded set of objects in flight, across all threads that share its budget.
 *
 * An object at depth d is admitted only while more than `depthMax - d` permits are free. The deepest object in flight
 * was admitted with at least `depthMax - d` permits left over, so its own entries always find one: objects that hold a
 * permit while they wait for nested ones cannot deadlock.
 */
export class ObjectFrontier {
  readonly #budget: CountBudget;
  readonly #depthMax: number;
  readonly #releasePermit: () => void;
  #refusedReserve = Infinity;

  /** @param depthMax depth of the innermost objects; 0 without nesting. The budget needs one permit per depth. */
  constructor(budget: CountBudget, depthMax: number) {
    if (budget.capacity <= depthMax)
      throw new RangeError(`frontier: a depth of ${depthMax} needs a capacity of ${depthMax + 1} at least`);
    this.#budget = budget;
    this.#depthMax = depthMax;
    this.#releasePermit = () => budget.release();
  }

  get capacity(): number {
    return this.#budget.capacity;
  }

  get inFlight(): number {
    return this.#budget.inUse;
  }

  get available(): number {
    return this.#budget.available;
  }

  /** Returns the object with a permit, or null if none is free for its depth. Never waits. */
  tryAcquireContext(descriptor: ObjectDescriptor, depth: number): ObjectRef | null {
    const reserve = this.reserve(depth);
    if (this.#budget.tryAcquire(reserve)) return this.adopt(descriptor, depth);
    this.#refusedReserve = Math.min(this.#refusedReserve, reserve);
    return null;
  }

  /** Waits for a permit. Only for producers outside the executors; rejects if the signal aborts. */
  async acquire(descriptor: ObjectDescriptor, depth: number, signal?: AbortSignal): Promise<ObjectRef> {
    await this.#budget.acquire(this.reserve(depth), signal);
    return this.adopt(descriptor, depth);
  }

  /** Returns the context of an object whose permit already belongs to this owner: it came from another thread. */
  adopt(descriptor: ObjectDescriptor, depth: number): ObjectRef {
    return new ObjectRef(new ObjectContext(descriptor, depth, this.#releasePermit));
  }

  /**
   * Resolves once the deepest object refused since the last call can be admitted, so that an idle executor retries its
   * steps; null if none was refused.
   */
  whenRefusedFits(signal?: AbortSignal): Promise<void> | null {
    const reserve = this.#refusedReserve;
    this.#refusedReserve = Infinity;
    return reserve === Infinity ? null : this.#budget.whenAvailable(reserve, signal);
  }

  /** Permits that objects of this depth leave to deeper ones. */
  reserve(depth: number): number {
    if (!(depth >= 0 && depth <= this.#depthMax))
      throw new RangeError(`frontier: depth ${depth} is not between 0 and ${this.#depthMax}`);
    return this.#depthMax - depth;
  }
}
