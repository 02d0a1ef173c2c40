import { isUuid } from '../../domain/ids.ts';
import type { Job, WorkflowDefinition } from '../../domain/schedule.ts';
import { scheduleFaults } from './cron.ts';
import { definitionFaults } from './send-runs.ts';

/** What is wrong with the members of a job that are there, each fault with its member's name. */
export function jobFaults(
  {
    name,
    cron,
    time_zone,
    workflow,
  }: Partial<Pick<Job, 'name' | 'cron' | 'time_zone'>> & {
    workflow?: WorkflowDefinition | null;
  },
  newId: () => string,
): string[] {
  const faults: string[] = [];
  // Whatever looks like an id is taken for one.
  if (name !== undefined && isUuid(name)) faults.push('name: must not be of the form of an id');
  // An expression that may recur is all that is needed to judge the time zone alone.
  if (cron !== undefined || time_zone !== undefined) {
    faults.push(...scheduleFaults(cron ?? '@daily', time_zone ?? 'UTC'));
  }
  if (workflow !== undefined && workflow !== null) faults.push(...definitionFaults(workflow, newId));
  return faults;
}
