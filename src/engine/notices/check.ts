import { HeddleError } from '../../domain/errors.ts';
import { pathOf, placeOf } from '../../domain/parse/path.ts';
import type { WorkflowNotification } from '../../domain/notification/notification.ts';
import { compileNotification, WORKFLOW_VARIABLES } from './render.ts';

/** What is wrong with the templates of a workflow's `notify`, each with its path. */
export function notifyFaults(entries: readonly WorkflowNotification[]): string[] {
  return entries.flatMap((entry, index) => {
    const compiled = compileNotification(entry, WORKFLOW_VARIABLES);
    const place = pathOf(placeOf(placeOf(null, 'notify'), index));
    return compiled.ok ? [] : compiled.faults.map(({ member, message }) => `${place}.${member}: ${message}`);
  });
}

/** @throws HeddleError VALIDATION_FAILED that names every template which does not compile */
export function requireTemplates(entries: readonly WorkflowNotification[]): void {
  const details = notifyFaults(entries);
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
}
