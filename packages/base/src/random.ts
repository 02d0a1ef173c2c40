import { randomBytes, randomFillSync } from 'node:crypto';

import { uuidV7Generator } from './ids.ts';

export interface Random {
  /** Uniform in [0, 1). Not for secrets. */
  next(): number;
  bytes(n: number): Uint8Array;
}

/** Small requests, such as nonces, are served from a larger buffer: a system call costs more than its bytes. */
const POOL_BYTES = 4096;
const PIECE_BYTES_MAX = 64;
const pool = new Uint8Array(POOL_BYTES);
let poolAt = POOL_BYTES;

function pooledBytes(n: number): Uint8Array {
  if (poolAt + n > POOL_BYTES) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const bytes = pool.slice(poolAt, poolAt + n);
  // It may become a key, so no second copy is kept.
  pool.fill(0, poolAt, poolAt + n);
  poolAt += n;
  return bytes;
}

/** Returns bytes of the operating system's generator, suitable for keys and tokens. */
export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (n) => (n <= PIECE_BYTES_MAX ? pooledBytes(n) : randomBytes(n)),
};

/** Creates a repeatable sequence for tests and simulations: mulberry32. Never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const uint32 = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    next: () => uint32() / 2 ** 32,
    bytes: (n) => Uint8Array.from({ length: n }, () => uint32() & 0xff),
  };
}

/** Returns a new UUIDv7 in lower case; the ids of one process are strictly increasing. */
export const newId: () => string = uuidV7Generator(
  () => Date.now(),
  (into) => void randomFillSync(into),
);
