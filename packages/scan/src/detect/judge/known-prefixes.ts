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
      .replaceAll('\\', '')
      .toLowerCase();
    return words.filter((word) => pattern.startsWith(word) || pattern.includes(`|${word}`));
  });
  return [...new Set(keywords.filter(isPrefix))];
}

function isPrefix(keyword: string): boolean {
  return keyword.length >= PREFIX_MIN && /^[\w.-]*[_.-]$/.test(keyword) && !SHARED.test(keyword);
}

/** Returns which of the prefixes a value has; undefined without one. */
export function knownPrefixOf(value: string, prefixes: readonly string[]): string | undefined {
  const lower = value.toLowerCase();
  return prefixes.find((prefix) => lower.startsWith(prefix));
}
