import type { Link } from '@heddle/client';

/** Equal siblings are one node of the graph from this number on: fewer are as quickly read one by one. */
export const FOLD_MIN = 20;

interface FoldedTask {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

interface LinkedTasks {
  readonly tasks: ReadonlyMap<string, FoldedTask>;
  readonly links: readonly Link[];
}

/** Siblings of one kind that have the same parents and the same children, on the same conditions. */
export interface TaskGroup {
  /** Stays the same while its first task does. */
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly members: readonly string[];
}

export interface Fold {
  readonly groups: ReadonlyMap<string, TaskGroup>;
  /** The group of each task that is in one. */
  readonly groupOf: ReadonlyMap<string, string>;
}

const GROUP = 'group:';

/** Finds the groups of equal siblings, in time proportional to tasks and links except for sorting. */
export function foldEqual({ tasks, links }: LinkedTasks): Fold {
  const place = new Map([...tasks.keys()].map((id, i) => [id, i]));
  const ends = [...tasks.keys()].map((): { parents: number[]; children: number[] } => ({ parents: [], children: [] }));
  const others = new Map<string, number>();
  for (const { parent_id, child_id, requires_success } of links) {
    const child = place.get(child_id);
    // A parent in another batch has no place here, and still distinguishes siblings.
    const parent = place.get(parent_id) ?? placeOfOther(others, parent_id, tasks.size);
    if (child === undefined) continue;
    const condition = requires_success ? 0 : 1;
    ends[child]!.parents.push(2 * parent + condition);
    ends[parent]?.children.push(2 * child + condition);
  }
  const alike = new Map<string, string[]>();
  let i = 0;
  for (const { id, kind } of tasks.values()) {
    const { parents, children } = ends[i++]!;
    const key = `${sorted(parents)} ${sorted(children)} ${kind}`;
    const members = alike.get(key);
    if (members === undefined) alike.set(key, [id]);
    else members.push(id);
  }
  const groups = new Map<string, TaskGroup>();
  const groupOf = new Map<string, string>();
  for (const members of alike.values()) {
    if (members.length < FOLD_MIN) continue;
    const id = `${GROUP}${members[0]!}`;
    const { kind } = tasks.get(members[0]!)!;
    groups.set(id, { id, kind, members, name: seriesName(members.map((member) => tasks.get(member)!)) });
    for (const member of members) groupOf.set(member, id);
  }
  return { groups, groupOf };
}

function placeOfOther(others: Map<string, number>, id: string, count: number): number {
  const known = others.get(id) ?? count + others.size;
  others.set(id, known);
  return known;
}

function sorted(places: number[]): string {
  return places.sort((a, b) => a - b).join();
}

/** The part of a name that distinguishes the members of a series. */
const COUNTER = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+/gi;

/** `Hash part …` for `Hash part 1`, `Hash part 2`; the kind for names that have nothing else in common. */
function seriesName(members: readonly FoldedTask[]): string {
  const stem = (name: string): string => name.replace(COUNTER, '…');
  const first = stem(members[0]!.name);
  return members.every(({ name }) => stem(name) === first) ? first : members[0]!.kind;
}
