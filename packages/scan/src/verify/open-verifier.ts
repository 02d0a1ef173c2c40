import type { CompiledRules } from '../detect/compile-rules.ts';
import type { VerificationSpec } from '../detect/rules/verification-spec.ts';
import type { VerifyOptions } from './options.ts';
import { Verifier, type VerifierParts } from './verifier.ts';

export { VerifyingObserver } from './verifying-observer.ts';

/** Creates the verifier of a rule set. */
export function openVerifier(options: VerifyOptions, { rules }: CompiledRules, parts: VerifierParts): Verifier {
  const specs = new Map<string, VerificationSpec>();
  for (const { rule } of rules) if (typeof rule.verify === 'object') specs.set(rule.id, rule.verify);
  return new Verifier(options, specs, parts);
}
