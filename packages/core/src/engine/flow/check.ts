import { HeddleError } from '@heddle/base/errors';
import type { Place } from '@heddle/base/parse/path';
import type { NewNode } from '@heddle/base/vocabulary/workflow';
import { planFlow, type TaskReads } from './plan.ts';

/**
 * Checks the expressions of a workflow and returns what its tasks read of each other.
 *
 * @param place path of the tree in the request
 * @throws HeddleError VALIDATION_FAILED listing every invalid expression and every invalid read
 */
export function requireSoundFlow(root: NewNode, place: Place): Map<string, TaskReads> {
  const { reads, faults } = planFlow(root, place);
  if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults });
  return reads;
}
