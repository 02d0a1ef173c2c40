import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';

const BUILT_IN = join(import.meta.dirname, '../../../packages/scan/src/detect/rules/builtin');

/** Seven rules of the simplest form: a provider's prefix, then the token. */
const FEW = [
  'github-personal-access-token',
  'gitlab-personal-access-token',
  'aws-access-key-id',
  'gcp-api-key',
  'npm-access-token',
  'digitalocean-token',
  'buildkite-token',
];

/** Of RE2. */
const REPEAT_MAX = 1000;

interface Rule {
  id: string;
  regex?: string;
  keywords?: string[];
  each?: string;
}

export interface RuleSet {
  /** A TOML file. */
  path: string;
  rules: number;
  /** Regular expressions of the same rules. */
  regexes: string[];
  /** Their keywords, as case-insensitive regular expressions. */
  keywords: string[];
}

function blocks(): { text: string; rule: Rule }[] {
  return globSync('*.toml', { cwd: BUILT_IN })
    .sort()
    .flatMap((file) =>
      readFileSync(join(BUILT_IN, file), 'utf8')
        .split(/^(?=\[\[rules\]\]$)/m)
        .slice(1)
        .map((text) => ({ text, rule: (parse(text) as unknown as { rules: Rule[] }).rules[0]! })),
    )
    .filter(({ rule }) => (rule.keywords ?? []).length > 0 && isReadByOthers(rule));
}

/** Whether other scanners can read a rule: RE2 has no assertions about what surrounds a match, and repeats little. */
function isReadByOthers({ regex, each }: Rule): boolean {
  if (regex === undefined || each !== undefined || /\(\?(?:[=!]|<[=!])/.test(regex)) return false;
  return [...regex.matchAll(/\{(\d+)(?:,(\d+))?\}/g)].every(([, least, most = least]) => Number(most) <= REPEAT_MAX);
}

/** Built-in rules written to a file: the seven simple ones, and as many more, spread over all families, as make `count`. */
export function writeRuleSet(directory: string, count: number): RuleSet {
  const all = blocks();
  const simple = all.filter(({ rule }) => FEW.includes(rule.id));
  const others = all.filter(({ rule }) => !FEW.includes(rule.id));
  const stepOf = (at: number): number => Math.floor((at * (count - FEW.length)) / others.length);
  const chosen = [...simple, ...others.filter((_, at) => stepOf(at + 1) !== stepOf(at))];
  if (chosen.length !== count) throw new Error(`${count} rules were wanted, there are ${chosen.length}`);
  const path = join(directory, `rules-${count}.toml`);
  writeFileSync(path, chosen.map(({ text }) => text).join('\n'));
  const keywords = new Set(chosen.flatMap(({ rule }) => rule.keywords!));
  return {
    path,
    rules: chosen.length,
    regexes: chosen.map(({ rule }) => rule.regex!),
    keywords: [...keywords].map((keyword) => `(?i:${keyword.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')})`),
  };
}
