import type { JsonObject } from '@heddle/base/json';
import { CONDITIONAL_KIND, decisionOf, notTaken, type Decision } from '@heddle/core/domain/conditional';
import { defineKind, type KindDefinition } from '@heddle/kit';
import { TaskSuccess } from '../definition/task-success.ts';
import { issueOf } from '../definition/input-schema.ts';
import type { StandardSchema } from '@heddle/base/standard-schema';

const decisionSchema: StandardSchema<JsonObject, Decision> = {
  '~standard': {
    version: 1,
    vendor: 'heddle',
    validate: (input) => {
      const decision = decisionOf(input as JsonObject);
      return typeof decision === 'string' ? { issues: [issueOf(decision)] } : { value: decision };
    },
  },
};

/**
 * Decides which of the following nodes run: its expression is already evaluated when it runs. Its success disables the
 * branch that was not taken.
 */
export function conditional(): KindDefinition<JsonObject> {
  return defineKind({
    name: CONDITIONAL_KIND,
    // Refused rather than failed: another attempt would have the same outcome.
    input: decisionSchema,
    run: (decision) => {
      const disabled = notTaken(decision);
      const result = { when: decision.when, disabled };
      return disabled.length === 0 ? new TaskSuccess(result) : new TaskSuccess(result, { disable: disabled });
    },
  });
}
