import type { TaskState } from '@heddle/base/vocabulary/task-state';
import { groupState, type StateTally } from './group-state.ts';
import { nameStem } from './node-name.ts';

/** Rows of a timeline. */
export const TIMELINE_ROWS_MAX = 2000;
/** Equal siblings that have rows of their own; the others are one group. */
export const EQUAL_SIBLINGS_MAX = 50;
/** Containers that have rows of their own, so that tasks have some, too. */
const CONTAINER_ROWS_MAX = 600;
/** Kinds of siblings that have groups of their own; tasks of further ones are left out. */
const CLASSES_MAX = 20_000;

export interface TimelineTask {
  id: string;
  /** Null in a batch. */
  container_id: string | null;
  /** The same for tasks of a batch with the same dependencies. */
  dependencies: string;
  name: string;
  kind: string;
  state: TaskState;
  attempt: number;
  critical: boolean;
  created_at: number;
  ready_at: number | null;
  claimed_at: number | null;
  started_at: number | null;
  ended_at: number | null;
}

export interface TimelineContainer {
  id: string;
  parent_id: string | null;
  name: string;
  state: TaskState;
  critical: boolean;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

/** A number of equal siblings. */
export interface TimelineGroup {
  parent_id: string | null;
  name: string;
  kind: string | null;
  state: TaskState;
  /** Tasks in it, those of its containers included. */
  tasks: number;
  tally: StateTally;
  critical: boolean;
  created_at: number;
  ready_at: number | null;
  started_at: number | null;
  /** Null until all have ended. */
  ended_at: number | null;
}

export type TimelineRow =
  ({ type: 'task' } & TimelineTask) | ({ type: 'container' } & TimelineContainer) | ({ type: 'group' } & TimelineGroup);

/** Equal siblings: those with rows of their own, and the group of the others. */
interface Siblings {
  alone: TimelineTask[];
  group: TimelineGroup | null;
}

const BAD: ReadonlySet<TaskState> = new Set(['failed', 'timed_out', 'partially_failed']);
const BUSY: ReadonlySet<TaskState> = new Set(['claimed', 'running', 'expanding']);

/** How much it matters that a node has a row of its own. */
function interestOf({ critical, state }: { critical: boolean; state: TaskState }): number {
  return (critical ? 4 : 0) + (BAD.has(state) ? 2 : 0) + (BUSY.has(state) ? 1 : 0);
}

/**
 * Folds the tasks of a run to at most TIMELINE_ROWS_MAX rows, in one pass and in memory that does not depend on their
 * number. Tasks that matter more (on the critical path, failed, running) keep rows of their own the longest.
 */
export class TimelineFold {
  readonly #containers: TimelineContainer[] = [];
  /** Group of each container without a row, and of those below it. */
  readonly #groupOf = new Map<string, TimelineGroup>();
  readonly #rowOf = new Set<string>();
  readonly #containerGroups: TimelineGroup[] = [];
  readonly #siblings = new Map<string, Siblings>();
  /** Tasks with rows of their own. */
  #alone = 0;
  #leftOut = 0;

  /** @param containers of a tree, parents before their children; none of a batch */
  constructor(containers: readonly TimelineContainer[] = []) {
    const alike = new Map<string, { shown: number; group: TimelineGroup | null }>();
    for (const container of byInterest(containers)) {
      const { id, parent_id } = container;
      const above = parent_id === null ? undefined : this.#groupOf.get(parent_id);
      if (above !== undefined) {
        this.#groupOf.set(id, above);
        continue;
      }
      const key = `${parent_id ?? ''} ${nameStem(container.name)}`;
      const found = alike.get(key) ?? { shown: 0, group: null };
      alike.set(key, found);
      if (found.shown < EQUAL_SIBLINGS_MAX && this.#containers.length < CONTAINER_ROWS_MAX) {
        found.shown += 1;
        this.#containers.push(container);
        this.#rowOf.add(id);
        continue;
      }
      if (found.group === null) {
        found.group = emptyGroup(parent_id, nameStem(container.name), null, container.created_at);
        this.#containerGroups.push(found.group);
      }
      this.#groupOf.set(id, found.group);
    }
  }

  add(task: TimelineTask): void {
    const { container_id } = task;
    if (container_id !== null && !this.#rowOf.has(container_id)) {
      const group = this.#groupOf.get(container_id);
      if (group === undefined) this.#leftOut += 1;
      else join(group, task);
      return;
    }
    const key = `${container_id ?? task.dependencies} ${task.kind} ${nameStem(task.name)}`;
    let siblings = this.#siblings.get(key);
    if (siblings === undefined) {
      if (this.#siblings.size >= CLASSES_MAX) {
        this.#leftOut += 1;
        return;
      }
      this.#siblings.set(key, (siblings = { alone: [], group: null }));
    }
    this.#place(siblings, task);
    if (this.#alone > 2 * TIMELINE_ROWS_MAX) this.#shrinkTo(TIMELINE_ROWS_MAX);
  }

  /** Returns the rows by time, containers before what they contain, and the number of tasks without one. */
  finish(): { rows: TimelineRow[]; left_out: number } {
    this.#fit();
    const nodes: TimelineRow[] = [...this.#siblings.values()].flatMap(({ alone, group }) => [
      ...alone.map((task): TimelineRow => ({ type: 'task', ...task })),
      ...(group === null ? [] : [{ type: 'group' as const, ...group }]),
    ]);
    const groups = this.#containerGroups.filter(({ tasks }) => tasks > 0);
    const rows: TimelineRow[] = [
      ...this.#containers.map((container): TimelineRow => ({ type: 'container', ...container })),
      ...groups.map((group): TimelineRow => ({ type: 'group', ...group })),
      ...nodes,
    ];
    return { rows: rows.sort((a, b) => startOf(a) - startOf(b)), left_out: this.#leftOut };
  }

  #place(siblings: Siblings, task: TimelineTask): void {
    if (siblings.alone.length < EQUAL_SIBLINGS_MAX) {
      siblings.alone.push(task);
      this.#alone += 1;
      return;
    }
    const interest = interestOf(task);
    const least = interest === 0 ? -1 : siblings.alone.findLastIndex((other) => interestOf(other) < interest);
    const folded = least < 0 ? task : siblings.alone.splice(least, 1, task)[0]!;
    fold(siblings, folded);
  }

  /** Folds the tasks that matter least, the last first, until this many have rows of their own. */
  #shrinkTo(most: number): void {
    for (let interest = 0; interest <= 7 && this.#alone > most; interest += 1) {
      for (const siblings of [...this.#siblings.values()].reverse()) {
        for (let at = siblings.alone.length - 1; at >= 0 && this.#alone > most; at -= 1) {
          if (interestOf(siblings.alone[at]!) > interest) continue;
          fold(siblings, siblings.alone.splice(at, 1)[0]!);
          this.#alone -= 1;
        }
        if (this.#alone <= most) return;
      }
    }
  }

  #fit(): void {
    const groups = (): number =>
      [...this.#siblings.values()].filter(({ group }) => group !== null).length +
      this.#containerGroups.filter(({ tasks }) => tasks > 0).length;
    const room = TIMELINE_ROWS_MAX - this.#containers.length;
    if (this.#alone + groups() > room) this.#shrinkTo(Math.max(room - groups(), Math.ceil(room / 2)));
    // What was folded may have made groups. The smallest go.
    let over = this.#alone + groups() - room;
    if (over <= 0) return;
    const small = [...this.#siblings.values()]
      .filter(({ group }) => group !== null)
      .sort((a, b) => a.group!.tasks - b.group!.tasks);
    for (const siblings of small) {
      if (over <= 0) break;
      this.#leftOut += siblings.group!.tasks;
      siblings.group = null;
      over -= 1;
    }
    if (over > 0) for (const group of this.#containerGroups.splice(0, over)) this.#leftOut += group.tasks;
  }
}

/** Of each level those that matter most first; parents stay before their children. */
function byInterest(containers: readonly TimelineContainer[]): TimelineContainer[] {
  const level = new Map<string, number>();
  for (const { id, parent_id } of containers) level.set(id, (level.get(parent_id ?? '') ?? -1) + 1);
  return containers.toSorted((a, b) => level.get(a.id)! - level.get(b.id)! || interestOf(b) - interestOf(a));
}

function fold(siblings: Siblings, task: TimelineTask): void {
  siblings.group ??= emptyGroup(task.container_id, nameStem(task.name), task.kind, task.created_at);
  join(siblings.group, task);
}

function emptyGroup(parentId: string | null, name: string, kind: string | null, createdAt: number): TimelineGroup {
  return {
    parent_id: parentId,
    name,
    kind,
    state: 'waiting',
    tasks: 0,
    tally: {},
    critical: false,
    created_at: createdAt,
    ready_at: null,
    started_at: null,
    ended_at: null,
  };
}

function join(group: TimelineGroup, task: TimelineTask): void {
  const first = group.tasks === 0;
  group.tasks += 1;
  group.tally[task.state] = (group.tally[task.state] ?? 0) + 1;
  group.state = groupState(group.tally);
  group.critical ||= task.critical;
  group.created_at = Math.min(group.created_at, task.created_at);
  group.ready_at = earlier(group.ready_at, task.ready_at);
  group.started_at = earlier(group.started_at, task.started_at);
  if (first) group.ended_at = task.ended_at;
  else if (group.ended_at !== null) {
    group.ended_at = task.ended_at === null ? null : Math.max(group.ended_at, task.ended_at);
  }
}

function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** What never started, or has not yet, comes last. */
function startOf(row: TimelineRow): number {
  return row.started_at ?? (row.type === 'container' ? null : row.ready_at) ?? Number.MAX_SAFE_INTEGER;
}
