import { Faults } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import type { Place } from '@heddle/base/parse/path';
import { isDatabaseKind } from '../built-in-kinds.ts';
import { encodeDemand, readRequirements, type KnownClasses } from './parse-requirements.ts';
import type { Demand } from '@heddle/base/vocabulary/requirements';

/** Returns why a task cannot have requirements; null if it can. */
export function requirementConflict({
  kind,
  startsByWebhook,
}: Pick<RunnerTask, 'kind' | 'startsByWebhook'>): string | null {
  if (startsByWebhook) {
    return 'must not be combined with on_start: a task started by a webhook does not run on a runner; remove one of the two';
  }
  if (!isDatabaseKind(kind)) return null;
  return `must not be set for the kind ${kind}, which needs the database, and runners have none; without requirements, a server runs the task`;
}

export interface RunnerTask {
  readonly kind: string;
  /** Whether it has `on_start`. */
  readonly startsByWebhook: boolean;
  readonly requirements?: unknown;
}

/**
 * Returns the faults of the member `requirements` of a task, each with its path.
 *
 * @param place path of the task
 */
export function requirementFaults(task: RunnerTask, place: Place, classes: KnownClasses): string[] {
  const faults = new Faults();
  const { requirements } = task;
  const members = new Members({ requirements }, place, faults);
  const conflict = readRequirements(members, classes) === null ? null : requirementConflict(task);
  if (conflict !== null) members.fault('requirements', conflict);
  return faults.list;
}

/** Checks requirements that were parsed without the classes of the pool against these classes. */
export function classFaults(demand: Demand | undefined, place: Place, classes: KnownClasses): string[] {
  if (demand === undefined || classes === null) return [];
  const faults = new Faults();
  readRequirements(new Members({ requirements: encodeDemand(demand) }, place, faults), classes);
  return faults.list;
}
