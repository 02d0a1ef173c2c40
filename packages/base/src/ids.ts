/** Task id: UUIDv7 in lower case, made by the client of the database so that a repeated request names the same task. */
export type TaskId = string & { readonly __brand?: 'TaskId' };
/** Workflow id (the batch id of the Task Runner API). */
export type WorkflowId = string & { readonly __brand?: 'WorkflowId' };
/** Container id; that of a workflow's root container is the workflow's own. */
export type ContainerId = string & { readonly __brand?: 'ContainerId' };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * Creates a generator of UUIDv7 (RFC 9562). Its ids are strictly increasing, also within a millisecond and when the
 * clock steps back, because 12 bits of `rand_a` count up and a full counter borrows the next millisecond.
 *
 * @param nowMs returns the time, milliseconds since the epoch
 * @param randomBytes fills a buffer with random bytes
 */
export function uuidV7Generator(nowMs: () => number, randomBytes: (into: Uint8Array) => void): () => string {
  const pool = new Uint8Array(4096);
  let poolAt = pool.length;
  let lastMs = 0;
  let counter = 0;
  return () => {
    const now = nowMs();
    if (now > lastMs) {
      lastMs = now;
      counter = 0;
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
    if (poolAt + 8 > pool.length) {
      randomBytes(pool);
      poolAt = 0;
    }
    const at = poolAt;
    poolAt += 8;
    const high = Math.floor(lastMs / 0x10000);
    const low = lastMs & 0xffff;
    const hex = (byte: number): string => HEX[byte & 0xff]!;
    return (
      hex(high >>> 24) +
      hex(high >>> 16) +
      hex(high >>> 8) +
      hex(high) +
      '-' +
      hex(low >>> 8) +
      hex(low) +
      '-' +
      hex(0x70 | (counter >>> 8)) +
      hex(counter) +
      '-' +
      hex(0x80 | (pool[at]! & 0x3f)) +
      hex(pool[at + 1]!) +
      '-' +
      hex(pool[at + 2]!) +
      hex(pool[at + 3]!) +
      hex(pool[at + 4]!) +
      hex(pool[at + 5]!) +
      hex(pool[at + 6]!) +
      hex(pool[at + 7]!)
    );
  };
}
