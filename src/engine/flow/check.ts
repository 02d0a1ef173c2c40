import { HeddleError } from '../../domain/errors.ts';
import type { Place } from '../../domain/parse/path.ts';
import type { NewNode } from '../../domain/workflow.ts';
import { planFlow, type TaskReads } from './plan.ts';

/**
 * What the tasks of a workflow read of each other.
 *
 * @param place what the tree is called in the request
 * @throws HeddleError VALIDATION_FAILED that names each expression that is wrong, or reads what it cannot
 */
export function requireSoundFlow(root: NewNode, place: Place): Map<string, TaskReads> {
  const { reads, faults } = planFlow(root, place);
  if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults });
  return reads;
}
