import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

import { parse, stringify } from 'smol-toml';

import { HeddleError } from '@heddle/base/errors';
import { suggestName } from '@heddle/base/suggest';
import { extendedPath, loadRules } from '../detect/rules/load-rules.ts';
import { parseRules } from '../detect/rules/parse-rules.ts';
import type { RuleSet } from '../detect/rules/rule.ts';
import type { RuleText } from '../options.ts';
import { refused } from '@heddle/base/terminal/refusal';
import type { VerifyEndpoint } from '../verify/options.ts';
import { readNamed } from './known.ts';
import { patternFaults } from './pattern-faults.ts';
import type { RuleChoice } from './options.ts';
import { ruleFileIn } from './rule-files.ts';

/** Maximum length of a chain of files that extend files. */
const EXTENDED_MAX = 8;

/** Stands for the built-in rules in a chain. */
const BUILTIN: RuleText = { name: '--extend-builtin', toml: '[extend]\nuseDefault = true\n' };

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
  const { ruleFiles, extendBuiltin, onlyRules } = choice;
  if (extendBuiltin && onlyRules)
    throw refused('--extend-builtin and --only-rules contradict each other; use one of them');
  const named = checked(() => ruleFiles.flatMap((path) => withExtended('--rules', path)));
  const looks = ruleFiles.length === 0 && choice.discover;
  const remedy = looks ? '; fix it, or ignore it with --no-config' : '';
  const found = looks ? checked(() => rulesFoundIn(directories, notice), remedy) : [];
  if ((extendBuiltin || onlyRules) && named.length === 0 && found.length === 0) {
    throw refused(`--${onlyRules ? 'only-rules' : 'extend-builtin'} needs --rules FILE`);
  }
  const texts = withBuiltin([...named, ...found], choice);
  const faults = texts.flatMap((text) => patternFaults(parseRules(text)));
  if (faults.length > 0) throw refused(`${faults.join('\n  ')}${remedy}`);
  // Reading the built-in rules takes longer than scanning a small directory.
  const warnings =
    texts.length === 0 ? [] : checked(() => loadRules({ rules: texts }), found.length > 0 ? remedy : '').warnings;
  for (const warning of warnings) notice(`warning: ${warning}`);
  refuseUnknown(texts, choice);
  return texts;
}

/** Merges the rules of a choice. */
export function ruleSetOf(choice: RuleChoice, directories: readonly string[], notice: (text: string) => void): RuleSet {
  return loadRules({ ...choice, rules: rulesOf(choice, directories, notice) });
}

function rulesFoundIn(directories: readonly string[], notice: (text: string) => void): RuleText[] {
  return directories.flatMap((directory) => {
    const path = ruleFileIn(directory);
    if (path === null) return [];
    notice(`rules: ${path} (--no-config ignores it)`);
    // The author of the scanned files must not choose where secrets are sent.
    return withExtended(path, path).map((text) => ({ ...text, untrusted: true }));
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

function withBuiltin(texts: readonly RuleText[], { extendBuiltin, onlyRules }: RuleChoice): RuleText[] {
  const extending = texts.filter((text) => parseRules(text).extend.use_default);
  if (extendBuiltin && extending.length === 0) return [BUILTIN, ...texts];
  if (!onlyRules) return [...texts];
  return texts.map((text) => (extending.includes(text) ? withoutDefault(text) : text));
}

function withoutDefault(text: RuleText): RuleText {
  const { extend: _, ...rest } = parse(text.toml);
  return { ...text, toml: stringify(rest) };
}

/** @throws CommandFailure if an endpoint names no verification of the rules */
export function refuseUnknownEndpoints(rules: readonly RuleText[], endpoints: readonly VerifyEndpoint[]): void {
  if (endpoints.length === 0) return;
  const specs = loadRules({ rules }).rules.flatMap(({ verify }) => (typeof verify === 'object' ? [verify.name] : []));
  const names = [...new Set(specs)].sort();
  const unknown = endpoints.find(({ name }) => !names.includes(name));
  if (unknown === undefined) return;
  const hint = nearOr(unknown.name, names, '`heddle scan rules --json` names those of all rules');
  throw refused(`--verify-endpoint ${unknown.name}: no rule has such a verification${hint}`);
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
    throw refused(`${flag} ${unknown}: unknown rule${nearOr(unknown, ids, '`heddle scan rules` lists all rules')}`);
  }
}

/** Returns a similar name, or what lists the names, which are too many for a message. */
function nearOr(given: string, known: readonly string[], list: string): string {
  const near = suggestName(given, known);
  return near === null ? `; ${list}` : `; did you mean "${near}"?`;
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
