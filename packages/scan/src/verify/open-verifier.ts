import { type CompiledRules, rulePlanAt } from '../detect/packed-rules.ts';
import type { VerifyOptions } from './options.ts';
import { type RuleVerification, Verifier, type VerifierParts } from './verifier.ts';

export { VerifyingObserver } from './verifying-observer.ts';

/** Creates the verifier of a rule set. */
export function openVerifier(options: VerifyOptions, rules: CompiledRules, parts: VerifierParts): Verifier {
  const specs = new Map<string, RuleVerification>();
  for (let number = 0; number < rules.outline.count; number++) {
    const { rule } = rulePlanAt(rules, number);
    if (typeof rule.verify === 'object') specs.set(rule.id, { spec: rule.verify, by_name: rule.by_name === true });
  }
  return new Verifier(options, specs, parts);
}
