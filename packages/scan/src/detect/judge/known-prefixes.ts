import type { Rule } from '../rules/rule.ts';

/** With the separator at its end. */
const PREFIX_MIN = 4;
/** Prefixes of several providers, also of some without a rule. */
const SHARED =
  /^(?:api|live|test|prod|sandbox|key|secret|token|access|[sprt]k|pat|client|private)[_.-](?:(?:live|test|prod|key)[_.-])?$|^\d+\.$/;

/** Returns the prefixes, in lower case, of the credentials that rules recognize by their form. */
export function prefixesOf(rules: readonly Rule[]): readonly string[] {
  const specific = rules.filter(({ judged, tags, by_name }) => !judged && !tags.includes('generic') && !by_name);
  const keywords = specific.flatMap(({ keywords: words, regex = '' }) => {
    const pattern = regex
      .replaceAll('\\b', '')
      .replace(/^(?:\(\?:|\()+/, '')
      .replaceAll('\\', '');
    return words.filter((word) => {
      const at = beginningOf(pattern.toLowerCase(), word);
      return at >= 0 && (isPrefix(word) || isCapitalized(pattern.slice(at, at + word.length)));
    });
  });
  return [...new Set(keywords)];
}

/** Returns where a pattern, or an alternative in it, begins with a word; -1 if none does. */
function beginningOf(pattern: string, word: string): number {
  if (pattern.startsWith(word)) return 0;
  const at = pattern.indexOf(`|${word}`);
  return at < 0 ? -1 : at + 1;
}

/** JSON in base64, and zeros, with which keys of several providers begin. */
const ANYBODYS = /^eyJ|AAA/;

/** Returns whether letters are the beginning of a credential, such as `AIza`, and no word in any case. */
function isCapitalized(literal: string): boolean {
  if (literal.length < PREFIX_MIN || ANYBODYS.test(literal)) return false;
  return /^[A-Za-z0-9]*[A-Z][A-Za-z0-9]*$/.test(literal);
}

function isPrefix(keyword: string): boolean {
  return keyword.length >= PREFIX_MIN && /^[\w.-]*[_.-]$/.test(keyword) && !SHARED.test(keyword);
}

const byBeginning = new WeakMap<readonly string[], Map<string, string[]>>();

/** Returns which of the prefixes a value has; undefined without one. */
export function knownPrefixOf(value: string, prefixes: readonly string[]): string | undefined {
  let groups = byBeginning.get(prefixes);
  if (groups === undefined)
    byBeginning.set(prefixes, (groups = Map.groupBy(prefixes, (prefix) => prefix.slice(0, PREFIX_MIN))));
  const lower = value.toLowerCase();
  return groups.get(lower.slice(0, PREFIX_MIN))?.find((prefix) => lower.startsWith(prefix));
}
