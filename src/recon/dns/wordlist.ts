/**
 * Names of subdomains, one for each word and domain, as the words come: neither is kept. Blank lines, comments (`#`) and
 * dots at the ends of words are left away; words of several labels are fine.
 *
 * @param domains few: every word is combined with each of them
 */
export async function* expandNames(
  domains: readonly string[],
  words: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string, void> {
  const zones = domains.map((domain) => domain.trim().replace(/^\.+|\.+$/g, '')).filter((domain) => domain !== '');
  for await (const line of words) {
    const word = line.trim().replace(/^\.+|\.+$/g, '');
    if (word === '' || word.startsWith('#')) continue;
    for (const zone of zones) yield `${word}.${zone}`;
  }
}
