import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuleText } from '../../options.ts';

const FOLDER = join(import.meta.dirname, 'builtin');

/**
 * Returns the rules that ship with Heddle, by family, and how the secrets of each family are verified: one request that
 * changes nothing, and what its answers mean, by the documentation of the provider, by public clients of its API, or as is generally known.
 */
export function builtinRuleTexts(): RuleText[] {
  const files = globSync('**/*.toml', { cwd: FOLDER });
  return files.sort().map((name) => ({ name: `builtin/${name}`, toml: readFileSync(join(FOLDER, name), 'utf8') }));
}
