import { HeddleError } from '@heddle/base/errors';
import { placeOf, type Place } from '@heddle/base/parse/path';
import { classFaults } from '../../domain/runner/check-requirements.ts';
import type { KnownClasses } from '../../domain/runner/parse-requirements.ts';
import type { NewTask } from '@heddle/base/vocabulary/task';
import type { NewNode } from '@heddle/base/vocabulary/workflow';

const FAULTS_MAX = 100;

/** Returns the faults of requirements in a tree that name classes unknown to the pool, each with its path. */
export function treeClassFaults(root: NewNode, at: Place, classes: KnownClasses): string[] {
  const faults: string[] = [];
  if (classes === null) return faults;
  const pending: { node: NewNode; place: Place }[] = [{ node: root, place: at }];
  for (let next = pending.pop(); next !== undefined && faults.length < FAULTS_MAX; next = pending.pop()) {
    const { node, place } = next;
    if (node.type === 'task') {
      faults.push(...classFaults(node.task.requirements, place, classes));
      continue;
    }
    const children = placeOf(place, 'children');
    for (const [index, child] of node.children.entries()) {
      pending.push({ node: child, place: placeOf(children, index) });
    }
  }
  return faults.sort();
}

/** @throws HeddleError VALIDATION_FAILED that lists the unknown classes and the known ones */
export function requireKnownClasses(root: NewNode, place: Place, classes: KnownClasses): void {
  const details = treeClassFaults(root, place, classes);
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
}

/** Checks the tasks of a batch, like `requireKnownClasses`. */
export function requireClassesOf(tasks: readonly NewTask[], classes: KnownClasses): void {
  if (classes === null) return;
  const details: string[] = [];
  for (const [index, { requirements }] of tasks.entries()) {
    if (requirements === undefined || details.length >= FAULTS_MAX) continue;
    details.push(...classFaults(requirements, placeOf(placeOf(null, 'tasks'), index), classes));
  }
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
}
