import type { BasicTask, Batch, Dag, Link } from '@heddle/client';
import { parseTime } from '../times.ts';
import { endedOf, stateOf } from '../ui/state.ts';
import type { State, Tally } from '../ui/state.ts';

/** A task as the console stores it: the wire's fields with a validated state and times as numbers. */
export interface TaskView {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly state: State;
  readonly reason: string | null;
  readonly success: number;
  readonly failures: number;
  readonly expected: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly updatedAt: number;
}

export interface TaskChange {
  task: TaskView;
  /** Null: it is new. */
  before: State | null;
}

export interface StoreChange {
  /** True if tasks or links were added or removed: the graph must be laid out again. */
  structure: boolean;
  changes: readonly TaskChange[];
}

function viewOf(task: BasicTask): TaskView {
  return {
    id: task.id,
    name: task.name,
    kind: task.kind,
    state: stateOf(task.status),
    reason: task.failure_reason ?? null,
    success: task.success,
    failures: task.failures,
    expected: task.expected_count ?? null,
    startedAt: parseTime(task.started_at),
    endedAt: parseTime(task.ended_at),
    updatedAt: parseTime(task.last_updated) ?? 0,
  };
}

/** The tasks and links of one batch, kept current by full reads and by change events. */
export class TaskStore {
  readonly tasks = new Map<string, TaskView>();
  links: readonly Link[] = [];
  readonly parents = new Map<string, Link[]>();
  readonly children = new Map<string, Link[]>();
  /** Replaced when it changes. */
  tally: Tally = {};
  /** The batch's own record; listeners receive it with the next change of tasks. */
  batch: Batch | null = null;
  loaded = false;
  /** The time of the latest change, milliseconds. */
  latestMs = 0;
  /** Increases with every change, for React. */
  version = 0;
  private readonly listeners = new Set<(change: StoreChange) => void>();

  readonly subscribe = (listener: (change: StoreChange) => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Whether every task has ended. */
  get finished(): boolean {
    return this.loaded && this.tasks.size > 0 && endedOf(this.tally) === this.tasks.size;
  }

  /** Applies a full read of the batch. Events received meanwhile are newer and take precedence. */
  replace(dag: Dag): void {
    const structure = !this.loaded || !this.sameStructure(dag);
    if (structure) {
      const kept = new Set(dag.tasks.map((task) => task.id));
      for (const id of this.tasks.keys()) if (!kept.has(id)) this.tasks.delete(id);
      this.linkUp(dag.links);
    }
    const changes = this.takeAll(dag.tasks);
    const first = !this.loaded;
    this.loaded = true;
    if (structure) this.tally = tallyOf(this.tasks.values());
    if (first || structure || changes.length > 0) this.changed({ structure, changes });
  }

  /** Applies changed tasks; returns false if one of them is unknown, so that a full read is needed. */
  apply(tasks: readonly BasicTask[]): boolean {
    const known = tasks.filter((task) => this.tasks.has(task.id));
    const changes = this.takeAll(known);
    if (changes.length > 0) this.changed({ structure: false, changes });
    return known.length === tasks.length;
  }

  private takeAll(tasks: readonly BasicTask[]): TaskChange[] {
    const tally: Partial<Record<State, number>> = { ...this.tally };
    const changes: TaskChange[] = [];
    for (const wire of tasks) {
      const task = viewOf(wire);
      const old = this.tasks.get(task.id);
      if (old !== undefined && (task.updatedAt < old.updatedAt || sameView(old, task))) continue;
      this.tasks.set(task.id, task);
      this.latestMs = Math.max(this.latestMs, task.updatedAt);
      if (old !== undefined) tally[old.state] = (tally[old.state] ?? 0) - 1;
      tally[task.state] = (tally[task.state] ?? 0) + 1;
      changes.push({ task, before: old?.state ?? null });
    }
    if (changes.length > 0) this.tally = tally;
    return changes;
  }

  private sameStructure(dag: Dag): boolean {
    return (
      dag.tasks.length === this.tasks.size &&
      dag.links.length === this.links.length &&
      dag.tasks.every((task) => this.tasks.has(task.id))
    );
  }

  private linkUp(links: readonly Link[]): void {
    this.links = links;
    this.parents.clear();
    this.children.clear();
    for (const link of links) {
      append(this.children, link.parent_id, link);
      append(this.parents, link.child_id, link);
    }
  }

  private changed(change: StoreChange): void {
    this.version += 1;
    for (const listener of this.listeners) listener(change);
  }
}

export function tallyOf(tasks: Iterable<TaskView>): Partial<Record<State, number>> {
  const tally: Partial<Record<State, number>> = {};
  for (const { state } of tasks) tally[state] = (tally[state] ?? 0) + 1;
  return tally;
}

function append(map: Map<string, Link[]>, key: string, link: Link): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [link]);
  else list.push(link);
}

function sameView(a: TaskView, b: TaskView): boolean {
  return (Object.keys(b) as (keyof TaskView)[]).every((key) => a[key] === b[key]);
}

/** Processed share of the expected items of a task that has not succeeded, 0 to 1; null if none are expected. */
export function progressOf({ state, expected, success, failures }: TaskView): number | null {
  if (expected === null || expected <= 0 || state === 'succeeded') return null;
  return Math.min(1, (success + failures) / expected);
}
