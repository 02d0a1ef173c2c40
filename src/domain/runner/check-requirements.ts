import { Faults } from '../parse/faults.ts';
import { Members } from '../parse/members.ts';
import type { Place } from '../parse/path.ts';
import { encodeDemand, readRequirements, type KnownClasses } from './parse-requirements.ts';
import type { Demand } from './requirements.ts';

/** What a task that starts by a webhook is told when it states requirements. */
export const STARTS_ELSEWHERE =
  'cannot be met beside on_start: what a webhook starts runs where the webhook goes, not on a runner; remove one of the two';

/**
 * What is wrong with the member `requirements` of a task, each fault with its path.
 *
 * @param place the task's own
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
  if (readRequirements(task, classes) !== null && startsByWebhook) task.fault('requirements', STARTS_ELSEWHERE);
  return faults.list;
}

/** What the pool of a server cannot give of requirements that were read without knowing its classes. */
export function classFaults(demand: Demand | undefined, place: Place, classes: KnownClasses): string[] {
  if (demand === undefined || classes === null) return [];
  return requirementFaults(encodeDemand(demand), place, classes, false);
}
