import { isUuid } from '@heddle/base/ids';
import type { Job, WorkflowDefinition } from '../../domain/schedule.ts';
import { scheduleFaults } from './cron.ts';
import { definitionFaults } from './send-runs.ts';

/** Returns the faults of the given members of a job, each with its member's name. */
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
  // A key of the form of an id is always read as an id.
  if (name !== undefined && isUuid(name)) faults.push('name: must not have the form of an id');
  // Any expression that recurs suffices to check the time zone alone.
  if (cron !== undefined || time_zone !== undefined) {
    faults.push(...scheduleFaults(cron ?? '@daily', time_zone ?? 'UTC'));
  }
  if (workflow !== undefined && workflow !== null) faults.push(...definitionFaults(workflow, newId));
  return faults;
}
