import { Faults } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import type { Place } from '@heddle/base/parse/path';
import { encodeDemand, readRequirements, type KnownClasses } from './parse-requirements.ts';
import type { Demand } from '@heddle/base/vocabulary/requirements';

/** Fault of a task that has both `requirements` and `on_start`. */
export const REQUIREMENTS_WITH_WEBHOOK =
  'must not be combined with on_start: a task started by a webhook does not run on a runner; remove one of the two';

/**
 * Returns the faults of the member `requirements` of a task, each with its path.
 *
 * @param place path of the task
 * @param startsByWebhook whether it has `on_start`
 */
export function requirementFaults(
  requirements: unknown,
  place: Place,
  classes: KnownClasses,
  startsByWebhook: boolean,
): string[] {
  const faults = new Faults();
  const task = new Members({ requirements }, place, faults);
  if (readRequirements(task, classes) !== null && startsByWebhook)
    task.fault('requirements', REQUIREMENTS_WITH_WEBHOOK);
  return faults.list;
}

/** Checks requirements that were parsed without the classes of the pool against these classes. */
export function classFaults(demand: Demand | undefined, place: Place, classes: KnownClasses): string[] {
  if (demand === undefined || classes === null) return [];
  return requirementFaults(encodeDemand(demand), place, classes, false);
}
