import type { NewDependency } from '@heddle/base/vocabulary/task';
import { elementPath, quoted } from '@heddle/base/json/path';
import type { FaultList } from '../validation/explain.ts';
import { suggestName } from '@heddle/base/suggest';
import type { ReadTask } from './read-tasks.ts';

/** Beyond this many local ids no suggestion is made. */
const SUGGEST_AMONG = 1000;
const CYCLE_SHOWN = 20;

/** The parents of each task, by its index in the request. */
export type Links = Map<number, NewDependency[]>;

/**
 * Resolves local ids to indices. Faults: a duplicate local id, an unknown parent, a task that depends on itself or
 * twice on one parent, a cycle (named with its path).
 * @param complete false if faulty tasks were left out: they may be the missing parents
 */
export function linkDependencies(tasks: readonly ReadTask[], complete: boolean, faults: FaultList): Links {
  const indexOf = indexLocalIds(tasks, faults);
  const links: Links = new Map();
  for (const task of tasks) {
    const { dependencies } = task.dto;
    if (dependencies === undefined || dependencies.length === 0) continue;
    const parents: NewDependency[] = [];
    const seen = new Set<string>();
    for (const [at, { id, requires_success = true }] of dependencies.entries()) {
      const path = `${elementPath(`${task.path}.dependencies`, at)}.id`;
      const index = indexOf.get(id);
      if (index === undefined && !complete) continue;
      else if (index === undefined)
        faults.add(path, `does not name a task of this request: ${quoted(id)}${near(id, indexOf)}`);
      else if (index === task.index) faults.add(path, `names the task itself (${quoted(id)}); remove it`);
      else if (seen.has(id)) faults.add(path, `names ${quoted(id)} a second time; keep one`);
      else parents.push({ index, requires_success });
      seen.add(id);
      if (faults.full) return links;
    }
    links.set(task.index, parents);
  }
  if (faults.faults.length === 0) reportCycle(tasks, links, faults);
  return links;
}

function indexLocalIds(tasks: readonly ReadTask[], faults: FaultList): Map<string, number> {
  const indexOf = new Map<string, number>();
  for (const { index, path, dto } of tasks) {
    if (dto.id === undefined) continue;
    const first = indexOf.get(dto.id);
    if (first === undefined) indexOf.set(dto.id, index);
    else faults.add(`${path}.id`, `is the id of tasks[${first}] too (${quoted(dto.id)}); ids must differ`);
  }
  return indexOf;
}

function near(id: string, indexOf: ReadonlyMap<string, number>): string {
  if (indexOf.size > SUGGEST_AMONG) return '';
  const suggestion = suggestName(id, [...indexOf.keys()]);
  return suggestion === null ? '' : `; did you mean ${quoted(suggestion)}?`;
}

/** Removes tasks without open parents until none is left (Kahn); the remainder contains a cycle. */
function reportCycle(tasks: readonly ReadTask[], links: Links, faults: FaultList): void {
  const open = new Map<number, number>();
  const children = new Map<number, number[]>();
  for (const [child, parents] of links) {
    open.set(child, parents.length);
    for (const parent of parents) {
      const index = parentIndex(parent);
      const siblings = children.get(index);
      if (siblings) siblings.push(child);
      else children.set(index, [child]);
    }
  }
  const free = tasks.map(({ index }) => index).filter((index) => (open.get(index) ?? 0) === 0);
  for (let next = free.pop(); next !== undefined; next = free.pop()) {
    open.delete(next);
    for (const child of children.get(next) ?? []) {
      const left = open.get(child)! - 1;
      open.set(child, left);
      if (left === 0) free.push(child);
    }
  }
  if (open.size > 0) addCycleFault(tasks, links, open, faults);
}

function addCycleFault(
  tasks: readonly ReadTask[],
  links: Links,
  stuck: ReadonlyMap<number, number>,
  faults: FaultList,
): void {
  const path: number[] = [];
  const positions = new Map<number, number>();
  let at = stuck.keys().next().value!;
  while (!positions.has(at)) {
    positions.set(at, path.length);
    path.push(at);
    at = links
      .get(at)!
      .map(parentIndex)
      .find((parent) => stuck.has(parent))!;
  }
  // The walk went from child to parent; the message reads from parent to child.
  const cycle = [...path.slice(positions.get(at)), at].reverse();
  const names = cycle.map((index) => quoted(tasks[index]!.dto.id ?? ''));
  const shown =
    names.length <= CYCLE_SHOWN
      ? names.join(' -> ')
      : `${names.slice(0, CYCLE_SHOWN).join(' -> ')} -> … (${names.length - CYCLE_SHOWN - 1} more) -> ${names.at(-1)!}`;
  faults.add(`tasks[${at}].dependencies`, `form a cycle: ${shown}; remove one of them`);
}

function parentIndex(dependency: NewDependency): number {
  return 'index' in dependency ? dependency.index : -1;
}
