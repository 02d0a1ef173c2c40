/**
 * Yields subdomain names, one for each word and domain, without keeping them. Skips blank lines, comments (`#`) and
 * trailing dots; words of several labels are allowed.
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
