import { createHash } from 'node:crypto';

import { isUuid } from './ids.ts';

/**
 * Derives the id of a created node: the same for the same maker and part, and a valid UUIDv7 with the maker's own time.
 * Creating the same nodes again yields the same ids, so that storing them twice changes nothing.
 *
 * @param makerId UUIDv7 of the task (or node) that creates it
 * @param part distinguishes it from its siblings: a key chosen by the maker, or its index
 */
export function derivedId(makerId: string, part: { key: string } | { ordinal: number }): string {
  if (!isUuid(makerId)) throw new TypeError(`derivedId: ${JSON.stringify(makerId)} is not a UUID`);
  const maker = makerId.toLowerCase();
  // A tag separates the two types of parts: a key that looks like a number is still a key.
  const text = 'key' in part ? `${maker}=${part.key}` : `${maker}#${part.ordinal}`;
  const hash = createHash('sha256').update(text).digest('hex');
  const variant = (8 | (Number.parseInt(hash[3]!, 16) & 3)).toString(16);
  return `${maker.slice(0, 13)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}
