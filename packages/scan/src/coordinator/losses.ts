import type { Problem } from '../result.ts';
import type { NumberedObject } from './numbered-object.ts';

/** Attempts for an object that was with a worker each time it failed. */
const LOSSES_MAX = 3;

/**
 * Decides which objects of a failed worker are reported as problems and which are scanned again: the one it was
 * working on is blamed; if it was working on none, those that were lost too often.
 */
export function classifyLosses(
  objects: readonly NumberedObject[],
  current: number,
  why: string,
  hung: boolean,
): { named: { object: NumberedObject; problem: Problem }[]; again: NumberedObject[] } {
  const named: { object: NumberedObject; problem: Problem }[] = [];
  const again: NumberedObject[] = [];
  for (const object of objects) {
    if (current === -1) object.losses += 1;
    if (object.index === current || object.losses >= LOSSES_MAX)
      named.push({ object, problem: lossOf(object, why, hung) });
    else again.push(object);
  }
  return { named, again };
}

function lossOf({ path }: NumberedObject, why: string, hung: boolean): Problem {
  if (hung)
    return {
      code: 'rule_timed_out',
      path,
      message: 'scanning it hung and was stopped',
      extent: 'partial',
    };
  return { code: 'unreadable', path, message: `the worker thread that scanned it failed: ${why}`, extent: 'partial' };
}
