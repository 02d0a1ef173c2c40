import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

import { parse, stringify } from 'smol-toml';

import { HeddleError } from '@heddle/base/errors';
import { nameRemedy } from '@heddle/base/suggest';
import { extendedPath, loadRules } from '../detect/rules/load-rules.ts';
import { parseRules } from '../detect/rules/parse-rules.ts';
import type { RuleSet } from '../detect/rules/rule.ts';
import type { RuleText } from '../options.ts';
import { refused } from '@heddle/base/terminal/refusal';
import { readNamed } from './known.ts';
import { patternFaults } from './pattern-faults.ts';
import type { ScanRequest } from './request.ts';

/** Names of rule files searched for in the scanned directories; the first match in each directory applies. */
const RULE_FILES = ['.heddle-scan.toml', '.gitleaks.toml', 'gitleaks.toml'] as const;

/** Maximum length of a chain of files that extend files. */
const EXTENDED_MAX = 8;

/** Stands for the built-in rules in a chain. */
const BUILTIN: RuleText = { name: '--extend-builtin', toml: '[extend]\nuseDefault = true\n' };

export type RuleChoice = ScanRequest['rules'];

/**
 * Returns the rules of a scan; null for the built-in ones. Validates them before anything is scanned.
 * @param notice receives which files were found and which fields are ignored
 * @throws CommandFailure
 */
export function rulesOf(
  choice: RuleChoice,
  directories: readonly string[],
  notice: (text: string) => void,
): RuleText[] {
  const named = checked(() => choice.files.flatMap((path) => withExtended('--rules', path)));
  const looks = choice.files.length === 0 && choice.discover;
  const remedy = looks ? '; fix it, or ignore it with --no-config' : '';
  const found = looks ? checked(() => rulesFoundIn(directories, notice), remedy) : [];
  if (choice.builtin !== null && named.length === 0 && found.length === 0) {
    throw refused(`--${choice.builtin === 'only' ? 'only-rules' : 'extend-builtin'} needs --rules FILE`);
  }
  const texts = withBuiltin([...named, ...found], choice.builtin);
  const faults = texts.flatMap((text) => patternFaults(parseRules(text)));
  if (faults.length > 0) throw refused(`${faults.join('\n  ')}${remedy}`);
  const { warnings } = checked(() => loadRules({ rules: texts }), found.length > 0 ? remedy : '');
  for (const warning of warnings) notice(`warning: ${warning}`);
  refuseUnknown(texts, choice);
  return texts;
}

/** Merges the rules of a choice. */
export function ruleSetOf(choice: RuleChoice, directories: readonly string[], notice: (text: string) => void): RuleSet {
  const { enable, disable } = choice;
  return loadRules({
    rules: rulesOf(choice, directories, notice),
    ...(enable.length === 0 ? {} : { enable }),
    ...(disable.length === 0 ? {} : { disable }),
  });
}

function rulesFoundIn(directories: readonly string[], notice: (text: string) => void): RuleText[] {
  return directories.flatMap((directory) => {
    const path = RULE_FILES.map((name) => join(directory, name)).find((each) => existsSync(each));
    if (path === undefined) return [];
    notice(`rules: ${path} (--no-config ignores it)`);
    return withExtended(path, path);
  });
}

/**
 * Returns the file, preceded by those that it extends by path: relative to it, or to the working directory.
 * @throws HeddleError if one of them is invalid, CommandFailure if one does not exist
 */
export function withExtended(flag: string, path: string, before: readonly string[] = []): RuleText[] {
  const text: RuleText = { name: path, toml: readNamed(flag, path) };
  const extended = extendedPath(text);
  if (extended === undefined) return [text];
  const beside = isAbsolute(extended) ? extended : join(dirname(path), extended);
  const base = existsSync(beside) ? beside : extended;
  const chain = [...before, path];
  if (chain.includes(base) || chain.length >= EXTENDED_MAX) {
    throw refused(`${path}: extends ${extended}, which forms a cycle or a chain of more than ${EXTENDED_MAX} files`);
  }
  return [...withExtended(`${path}: [extend] path`, base, chain), text];
}

function withBuiltin(texts: readonly RuleText[], builtin: RuleChoice['builtin']): RuleText[] {
  const extending = texts.filter((text) => parseRules(text).extend.use_default);
  if (builtin === 'extend' && extending.length === 0) return [BUILTIN, ...texts];
  if (builtin !== 'only') return [...texts];
  return texts.map((text) => (extending.includes(text) ? withoutDefault(text) : text));
}

function withoutDefault({ name, toml }: RuleText): RuleText {
  const { extend: _, ...rest } = parse(toml);
  return { name, toml: stringify(rest) };
}

function refuseUnknown(texts: readonly RuleText[], { enable, disable }: RuleChoice): void {
  if (enable.length + disable.length === 0) return;
  const ids = loadRules({ rules: texts }).rules.map(({ id }) => id);
  for (const [flag, names] of [
    ['--enable', enable],
    ['--disable', disable],
  ] as const) {
    const unknown = names.find((name) => !ids.includes(name));
    if (unknown === undefined) continue;
    const near = nameRemedy(unknown, ids);
    const hint = near.startsWith('; did you mean') ? near : '; `heddle scan rules` lists all rules';
    throw refused(`${flag} ${unknown}: unknown rule${hint}`);
  }
}

/** Reports an invalid rule set as a fault of the user's input. */
function checked<T>(run: () => T, remedy = ''): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof HeddleError) throw refused(`${error.message}${remedy}`, error);
    throw error;
  }
}
