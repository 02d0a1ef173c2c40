/** A container of an ended tree. */
export interface PathContainer {
  id: string;
  parent_id: string | null;
  mode: 'sequential' | 'parallel';
  ended_at: number | null;
}

/** The task of a container that ended last. */
export interface LastTask {
  container_id: string;
  id: string;
  ended_at: number;
}

/**
 * Tells which nodes of a tree determined when it ended. The end of a sequence is determined by each of its nodes in
 * turn, that of a parallel container by the node that ended last. A tree is read as a whole only for its containers.
 */
export class TreeCriticalPath {
  readonly #sequences = new Set<string>();
  readonly #lastTasks = new Set<string>();

  /** @param containers parents before their children; the first is the root */
  constructor(containers: readonly PathContainer[], lastTasks: readonly LastTask[]) {
    const last = new Map<string, { id: string; ended_at: number; isTask: boolean }>();
    for (const { container_id, id, ended_at } of lastTasks) last.set(container_id, { id, ended_at, isTask: true });
    for (const { id, parent_id, ended_at } of containers) {
      if (parent_id === null || ended_at === null) continue;
      const found = last.get(parent_id);
      // A container that ended with a task of its parent ended because of a task below it, which is of more interest.
      if (found === undefined || ended_at >= found.ended_at) last.set(parent_id, { id, ended_at, isTask: false });
    }
    const critical = new Set<string>(containers.slice(0, 1).map(({ id }) => id));
    for (const { id, parent_id, mode } of containers) {
      if (
        parent_id !== null &&
        (this.#sequences.has(parent_id) || (critical.has(parent_id) && last.get(parent_id)?.id === id))
      ) {
        critical.add(id);
      }
      if (!critical.has(id)) continue;
      if (mode === 'sequential') this.#sequences.add(id);
      else if (last.get(id)?.isTask === true) this.#lastTasks.add(last.get(id)!.id);
    }
    this.containers = critical;
  }

  readonly containers: ReadonlySet<string>;

  /** @param ran whether an attempt of the task started: what was skipped took no time */
  has(task: { id: string; container_id: string | null; ran: boolean }): boolean {
    if (!task.ran) return false;
    return this.#lastTasks.has(task.id) || (task.container_id !== null && this.#sequences.has(task.container_id));
  }
}
