import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { RuleChoice } from './options.ts';

/** Names of rule files searched for in the scanned directories; the first match in each directory applies. */
const RULE_FILES = ['.heddle-scan.toml', '.gitleaks.toml', 'gitleaks.toml'] as const;

export function ruleFileIn(directory: string): string | null {
  return RULE_FILES.map((name) => join(directory, name)).find((each) => existsSync(each)) ?? null;
}

/** Returns whether a choice is that of all built-in rules, so that nothing must be read to check it. */
export function isBuiltinOnly(choice: RuleChoice, directories: readonly string[]): boolean {
  const { ruleFiles, extendBuiltin, onlyRules, enable, disable, discover } = choice;
  if (extendBuiltin || onlyRules || ruleFiles.length + enable.length + disable.length > 0) return false;
  return !discover || directories.every((directory) => ruleFileIn(directory) === null);
}
