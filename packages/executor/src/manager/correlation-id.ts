import type { Random } from '@heddle/base/random';

const POOL_BYTES = 4096;
const ID_BYTES = 16;

/** Returns a generator of unguessable UUIDv4 ids. */
export function correlationIds(random: Random): () => string {
  let pool = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at + ID_BYTES > pool.length) {
      pool = Buffer.from(random.bytes(POOL_BYTES));
      at = 0;
    }
    pool[at + 6] = (pool[at + 6]! & 0x0f) | 0x40;
    pool[at + 8] = (pool[at + 8]! & 0x3f) | 0x80;
    const hex = pool.toString('hex', at, at + ID_BYTES);
    at += ID_BYTES;
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
}
