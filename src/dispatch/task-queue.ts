import type { ClaimedTask } from '../engine/port.ts';

/** Tasks that were claimed and wait for an executor, first come, first served; kept as the sets they came in. */
export class TaskQueue {
  #sets: ClaimedTask[][] = [];
  /** Where the next task stands in the first set. */
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

  /** What waits now, the oldest first. */
  *[Symbol.iterator](): Generator<ClaimedTask> {
    for (const [index, set] of this.#sets.entries()) yield* index === 0 ? set.slice(this.#at) : set;
  }

  /** Takes a task out of its turn; false where it does not wait any more. */
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

  /** The oldest task; undefined where none waits. */
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
