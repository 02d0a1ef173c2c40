import type { Problem } from '../result.ts';
import type { NumberedObject } from './numbered-object.ts';

/** An object that was with a worker each time it ended is not tried for ever. */
const LOSSES_MAX = 3;

/**
 * Which objects of a worker that ended are named as problems, and which are scanned again: the one it worked on is to
 * blame; where it worked on none, those that were lost too often.
 */
export function nameLosses(
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
      message: 'a step of its scan did not come to an end and was stopped',
      extent: 'partial',
    };
  return { code: 'unreadable', path, message: `the thread that scanned it came to an end: ${why}`, extent: 'partial' };
}
