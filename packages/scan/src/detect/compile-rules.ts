import { buildKeywordAutomaton } from './keywords/trie.ts';
import { type CompiledRules, packRules } from './packed-rules.ts';
import { builtinPlan } from './rules/builtin-plan.ts';
import { compileAllowlist, compilePathRule, compileRule } from './rules/compile-rule.ts';
import { keptPlan } from './rules/kept-plan.ts';
import { loadRules, type RuleChoice } from './rules/load-rules.ts';
import type { RuleSet } from './rules/rule.ts';
import type { RulePlan } from './rules/rule-plan.ts';

/** Compiles rule sets. Throws HeddleError with rule, field and reason if one cannot be used. */
export function compileRules(options: RuleChoice): CompiledRules {
  const { rules, enable = [], disable = [] } = options;
  const compile = (): CompiledRules => compileFrom(loadRules(options));
  const isBuiltin = rules.length + enable.length + disable.length === 0;
  return isBuiltin ? (builtinPlan() ?? keptPlan(compile)) : compile();
}

export function compileFrom(set: RuleSet): CompiledRules {
  const rules = set.rules.filter(({ regex }) => regex !== undefined).map(compileRule);
  const byKeyword = rulesByKeyword(rules);
  return packRules({
    rules,
    path_rules: set.rules.filter(({ regex }) => regex === undefined).map(compilePathRule),
    allowlists: set.allowlists.map((list) => compileAllowlist(list, 'allow lists of the rule set')),
    warnings: set.warnings,
    automaton: buildKeywordAutomaton([...byKeyword.keys()]),
    keywords: [...byKeyword].map(([word, indexes]) => ({ length: word.length, rules: indexes })),
  });
}

function rulesByKeyword(rules: readonly RulePlan[]): Map<string, number[]> {
  const byKeyword = new Map<string, number[]>();
  for (const [index, { placement }] of rules.entries()) {
    for (const word of wordsOf(placement)) {
      const indexes = byKeyword.get(word);
      if (indexes === undefined) byKeyword.set(word, [index]);
      else indexes.push(index);
    }
  }
  return byKeyword;
}

function wordsOf(placement: RulePlan['placement']): readonly string[] {
  switch (placement.type) {
    case 'anchored':
      return placement.literals;
    case 'nearby':
      return placement.keywords;
    case 'everywhere':
      return [];
  }
}
