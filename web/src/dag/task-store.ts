import { isTerminal, noCounts, statusFromWire } from '../status.ts';
import type { Status, StatusCounts } from '../status.ts';
import { parseTime } from '../times.ts';
import type { BasicTask, Batch, Dag, Link } from '@heddle/client';

/** A task as the console stores it: the wire's fields with a validated status and times as numbers. */
export interface TaskView {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly status: Status;
  readonly success: number;
  readonly failures: number;
  readonly expected: number | null;
  readonly createdAt: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly updatedAt: number;
}

export interface StoreChange {
  /** True if tasks or links were added or removed: the graph must be laid out again. */
  structure: boolean;
  ids: readonly string[];
}

function viewOf(task: BasicTask): TaskView {
  return {
    id: task.id,
    name: task.name,
    kind: task.kind,
    status: statusFromWire(task.status),
    success: task.success,
    failures: task.failures,
    expected: task.expected_count ?? null,
    createdAt: parseTime(task.created_at),
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
  counts: StatusCounts = noCounts();
  /** The batch's own record; listeners receive it with the next change of tasks. */
  batch: Batch | null = null;
  loaded = false;
  /** Increases with every change, for React. */
  version = 0;
  private readonly listeners = new Set<(change: StoreChange) => void>();

  readonly subscribe = (listener: (change: StoreChange) => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get done(): number {
    return this.counts.Success + this.counts.Failure + this.counts.Canceled;
  }

  /** Whether every task has ended. */
  get finished(): boolean {
    return this.loaded && this.tasks.size > 0 && this.done === this.tasks.size;
  }

  /** Applies a full read of the batch. Events received meanwhile are newer and take precedence. */
  replace(dag: Dag): void {
    const structure = !this.loaded || !this.sameStructure(dag);
    if (structure) {
      const kept = new Set(dag.tasks.map((task) => task.id));
      for (const id of this.tasks.keys()) if (!kept.has(id)) this.tasks.delete(id);
      this.linkUp(dag.links);
    }
    const ids = dag.tasks.filter((task) => this.take(task)).map((task) => task.id);
    const first = !this.loaded;
    this.loaded = true;
    if (first || structure || ids.length > 0) this.changed({ structure, ids });
  }

  /** Applies changed tasks; returns false if one of them is unknown, so that a full read is needed. */
  apply(tasks: readonly BasicTask[]): boolean {
    const known = tasks.filter((task) => this.tasks.has(task.id));
    const ids = known.filter((task) => this.take(task)).map((task) => task.id);
    if (ids.length > 0) this.changed({ structure: false, ids });
    return known.length === tasks.length;
  }

  private take(task: BasicTask): boolean {
    const next = viewOf(task);
    const old = this.tasks.get(task.id);
    if (old !== undefined && (next.updatedAt < old.updatedAt || sameView(old, next))) return false;
    this.tasks.set(task.id, next);
    return true;
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
    const counts = noCounts();
    for (const task of this.tasks.values()) counts[task.status] += 1;
    this.counts = counts;
    this.version += 1;
    for (const listener of this.listeners) listener(change);
  }
}

function append(map: Map<string, Link[]>, key: string, link: Link): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [link]);
  else list.push(link);
}

function sameView(a: TaskView, b: TaskView): boolean {
  return (
    a.status === b.status &&
    a.updatedAt === b.updatedAt &&
    a.success === b.success &&
    a.failures === b.failures &&
    a.startedAt === b.startedAt &&
    a.endedAt === b.endedAt &&
    a.name === b.name &&
    a.expected === b.expected
  );
}

/** Processed share of the expected items, 0 to 1; null if none are expected. */
export function progressOf(task: TaskView): number | null {
  if (task.expected === null || task.expected <= 0) return null;
  return Math.min(1, (task.success + task.failures) / task.expected);
}

/** Run time of the task so far or in total; null before its start. */
export function runtimeOf(task: TaskView, nowMs: number): number | null {
  if (task.startedAt === null) return null;
  return (task.endedAt ?? (isTerminal(task.status) ? task.updatedAt : nowMs)) - task.startedAt;
}
