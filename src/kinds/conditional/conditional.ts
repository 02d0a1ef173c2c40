import type { JsonObject } from '../../domain/json.ts';
import { CONDITIONAL_KIND, decisionOf, notTaken } from '../../domain/conditional.ts';
import { defineKind, type KindDefinition } from '../definition/define-kind.ts';
import { Ending } from '../definition/ending.ts';

/**
 * Decides which of the nodes after it run: by the time that it runs, its expression has its value. Its success disables
 * the branch that was not taken.
 */
export function conditional(): KindDefinition<JsonObject> {
  return defineKind({
    name: CONDITIONAL_KIND,
    run: (input) => {
      const decision = decisionOf(input);
      if (typeof decision === 'string') throw new Error(decision);
      const disabled = notTaken(decision);
      const result = { when: decision.when, disabled };
      return disabled.length === 0 ? new Ending(result) : new Ending(result, { disable: disabled });
    },
  });
}
