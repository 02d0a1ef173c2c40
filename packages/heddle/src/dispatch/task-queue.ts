import type { ClaimedTask } from '@heddle/core/engine/port';

/** Claimed tasks that wait for an executor, first come, first served; kept as the sets in which they arrived. */
export class TaskQueue {
  #sets: ClaimedTask[][] = [];
  /** Index of the next task in the first set. */
  #at = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(set: ClaimedTask[]): void {
    if (set.length === 0) return;
    this.#sets.push(set);
    this.#size += set.length;
  }

  /** The waiting tasks, the oldest first. */
  *[Symbol.iterator](): Generator<ClaimedTask> {
    for (const [index, set] of this.#sets.entries()) yield* index === 0 ? set.slice(this.#at) : set;
  }

  /** Removes a task out of order; returns false if it no longer waits. */
  remove(task: ClaimedTask): boolean {
    for (const [index, set] of this.#sets.entries()) {
      const at = set.indexOf(task, index === 0 ? this.#at : 0);
      if (at < 0) continue;
      this.#sets[index] = set.filter((other) => other !== task);
      this.#size -= 1;
      if (index === 0 && this.#at === this.#sets[0]!.length) {
        this.#sets.shift();
        this.#at = 0;
      } else if (this.#sets[index].length === 0) this.#sets.splice(index, 1);
      return true;
    }
    return false;
  }

  /** Takes the oldest task; undefined if none waits. */
  shift(): ClaimedTask | undefined {
    const [set] = this.#sets;
    if (set === undefined) return undefined;
    const task = set[this.#at];
    this.#at += 1;
    this.#size -= 1;
    if (this.#at === set.length) {
      this.#sets.shift();
      this.#at = 0;
    }
    return task;
  }
}
