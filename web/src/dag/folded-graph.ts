import type { State, Tally } from '../ui/state.ts';
import { foldEqual } from './fold.ts';
import type { Fold, TaskGroup } from './fold.ts';
import { tallyOf } from './task-store.ts';
import type { StoreChange, TaskStore, TaskView } from './task-store.ts';

/** A node of the graph: a task, or a group of equal siblings. */
export type GraphNode = { type: 'task'; id: string; task: TaskView } | { type: 'group'; id: string; group: TaskGroup };

export interface GraphStructure {
  readonly nodes: readonly GraphNode[];
  readonly places: ReadonlyMap<string, number>;
  /** Parent, child, parent, child …, by place. */
  readonly edges: Int32Array;
  /** Of each edge whether the child requires success. */
  readonly required: readonly boolean[];
}

/** A store's tasks as a graph in which equal siblings are one node. Follows the store: tallies change without a new fold. */
export class FoldedGraph {
  private readonly store: TaskStore;
  private readonly opened = new Set<string>();
  private fold: Fold = { groups: new Map(), groupOf: new Map() };
  private tallies = new Map<string, Tally>();
  private readonly listeners = new Set<() => void>();

  constructor(store: TaskStore) {
    this.store = store;
    // As long as the store: both belong to one view.
    store.subscribe((change) => this.follow(change));
  }

  /** Calls back when groups are opened or closed in the graph. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Number of nodes. */
  get size(): number {
    let size = this.store.tasks.size;
    for (const { id, members } of this.fold.groups.values()) if (!this.opened.has(id)) size -= members.length - 1;
    return size;
  }

  group(id: string): TaskGroup | undefined {
    return this.fold.groups.get(id);
  }

  /** The group of a task; undefined if it is in none. */
  groupOf(taskId: string): TaskGroup | undefined {
    return this.fold.groups.get(this.fold.groupOf.get(taskId) ?? '');
  }

  isUnfolded(groupId: string): boolean {
    return this.opened.has(groupId);
  }

  tally(groupId: string): Tally {
    return this.tallies.get(groupId) ?? {};
  }

  /** The node that shows a task or a group: itself, or the group that it is folded into. */
  nodeOf(id: string): string {
    const group = this.fold.groupOf.get(id);
    return group === undefined || this.opened.has(group) ? id : group;
  }

  /** Draws the tasks of a group one by one, or as one again. */
  setUnfolded(groupId: string, unfolded: boolean): void {
    if (unfolded) this.opened.add(groupId);
    else this.opened.delete(groupId);
    for (const listener of this.listeners) listener();
  }

  structure(): GraphStructure {
    const places = new Map<string, number>();
    const nodes: GraphNode[] = [];
    for (const task of this.store.tasks.values()) {
      const id = this.nodeOf(task.id);
      if (places.has(id)) continue;
      places.set(id, nodes.length);
      const group = this.fold.groups.get(id);
      nodes.push(group === undefined ? { type: 'task', id, task } : { type: 'group', id, group });
    }
    const pairs = new Map<number, boolean>();
    for (const { parent_id, child_id, requires_success } of this.store.links) {
      const parent = places.get(this.nodeOf(parent_id));
      const child = places.get(this.nodeOf(child_id));
      // A parent in another batch has no card here.
      if (parent !== undefined && child !== undefined) pairs.set(parent * nodes.length + child, requires_success);
    }
    const ends = [...pairs.keys()].flatMap((pair) => [Math.floor(pair / nodes.length), pair % nodes.length]);
    return { nodes, places, edges: Int32Array.from(ends), required: [...pairs.values()] };
  }

  private follow({ structure, changes }: StoreChange): void {
    if (structure) {
      this.fold = foldEqual(this.store);
      for (const id of this.opened) if (!this.fold.groups.has(id)) this.opened.delete(id);
      this.tallies = new Map(
        [...this.fold.groups.values()].map(({ id, members }) => [
          id,
          tallyOf(members.map((member) => this.store.tasks.get(member)!)),
        ]),
      );
      return;
    }
    const fresh = new Map<string, Partial<Record<State, number>>>();
    for (const { task, before } of changes) {
      const group = this.fold.groupOf.get(task.id);
      if (group === undefined || before === null) continue;
      const tally = fresh.get(group) ?? { ...this.tally(group) };
      tally[before] = (tally[before] ?? 0) - 1;
      tally[task.state] = (tally[task.state] ?? 0) + 1;
      fresh.set(group, tally);
    }
    for (const [group, tally] of fresh) this.tallies.set(group, tally);
  }
}
