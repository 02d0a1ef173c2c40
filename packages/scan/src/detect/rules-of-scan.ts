import type { CompiledRules } from './packed-rules.ts';
import { builtinPlan } from './rules/builtin-plan.ts';
import { readKeptPlan } from './rules/kept-plan.ts';
import type { RuleChoice } from './rules/load-rules.ts';

/** Compiles rule sets, as `compileRules` does; loads the code for that only if the rules are not compiled already. */
export async function rulesOfScan(choice: RuleChoice): Promise<CompiledRules> {
  const { rules, enable = [], disable = [] } = choice;
  const isBuiltin = rules.length + enable.length + disable.length === 0;
  const ready = isBuiltin ? (builtinPlan() ?? readKeptPlan()) : null;
  return ready ?? (await import('./compile-rules.ts')).compileRules(choice);
}
