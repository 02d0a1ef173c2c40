import { readFileSync, readdirSync } from 'node:fs';
import type { RuleText } from '../../options.ts';

const FOLDER = new URL('./builtin/', import.meta.url);

/** Returns the rules that ship with Heddle, by family. */
export function builtinRuleTexts(): RuleText[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.toml'));
  return files.sort().map((name) => ({ name: `builtin/${name}`, toml: readFileSync(new URL(name, FOLDER), 'utf8') }));
}
