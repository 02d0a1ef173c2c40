import { createHash } from 'node:crypto';

import { isUuid } from '../domain/ids.ts';

/**
 * The id of a node that another one made: the same for the same maker and part, and a valid UUIDv7 with the maker's own
 * time. Whoever makes the same nodes again names the same ids, so that storing them twice changes nothing.
 *
 * @param makerId UUIDv7 of the task (or node) that makes it
 * @param part what tells it from its siblings: a key of its maker's choice, or where it stands among them
 */
export function derivedId(makerId: string, part: { key: string } | { ordinal: number }): string {
  if (!isUuid(makerId)) throw new TypeError(`derivedId: ${JSON.stringify(makerId)} is no UUID`);
  const maker = makerId.toLowerCase();
  // The two kinds of parts never meet: a key that looks like a number is still a key.
  const text = 'key' in part ? `${maker}=${part.key}` : `${maker}#${part.ordinal}`;
  const hash = createHash('sha256').update(text).digest('hex');
  const variant = (8 | (Number.parseInt(hash[3]!, 16) & 3)).toString(16);
  return `${maker.slice(0, 13)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}
