import type { Static, TSchema } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { WorkflowDefinition } from '@heddle/core/domain/schedule';
import { jobFaults } from '@heddle/core/engine/schedule/job-faults';
import { MAX_DETAILS } from '@heddle/base/json/parse';
import { requireFit } from '../validation/check.ts';

/**
 * Returns the body, typed by its schema. If it does not match, reports the faults of its expression and its workflow as
 * well, so that all can be fixed at once.
 * @throws HeddleError VALIDATION_FAILED
 */
export function requireJobFields<Schema extends TSchema>(
  schema: Schema,
  body: unknown,
  newId: () => string,
): Static<Schema> {
  try {
    return requireFit(schema, body);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const named = new Set(error.details.map(memberOf));
    const further = jobFaults(readableOf(body), newId).filter((fault) => !named.has(memberOf(fault)));
    const details = [...error.details, ...further].slice(0, MAX_DETAILS);
    throw new HeddleError(error.code, undefined, { details });
  }
}

function memberOf(fault: string): string {
  return /^\w*/.exec(fault)![0];
}

function readableOf(body: unknown): Parameters<typeof jobFaults>[0] {
  if (typeof body !== 'object' || body === null) return {};
  const members = body as Record<string, unknown>;
  const readable: Parameters<typeof jobFaults>[0] = {};
  for (const member of ['name', 'cron', 'time_zone'] as const) {
    const value = members[member];
    if (typeof value === 'string') readable[member] = value;
  }
  const { workflow } = members;
  if (typeof workflow === 'object' && workflow !== null && !Array.isArray(workflow)) {
    readable.workflow = workflow as WorkflowDefinition;
  }
  return readable;
}
