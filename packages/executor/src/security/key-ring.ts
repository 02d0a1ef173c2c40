import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { deriveClientKey, deriveSigningKeys } from '../protocol/mac.ts';
import { FileWatch } from './file-watch.ts';
import { readKeyRing, ringFault, stateAt, type RingKey } from './key-ring-file.ts';
import type { DirectionKeys, KeyLookup, KeyState } from './port.ts';

/** Cached derived keys per key id, for clients with a valid MAC. */
const TRUSTED_MAX = 10_000;
/** Cached derived keys per key id, for clients without a valid MAC yet: names cost an attacker nothing. */
const UNPROVEN_MAX = 256;
/** Interval between file checks triggered by unknown keys. */
const CHECK_INTERVAL_MS = 200;

/** Keys of an executor. */
export interface KeyRing extends KeyLookup {
  /** Marks a client whose MAC was valid, so that unproven ones cannot evict its derived keys. */
  trust(keyId: string, client: string): void;
  /** Lists the keys, without secrets. */
  list(): readonly { readonly id: string; readonly state: KeyState }[];
  /**
   * Checks for new keys, at most five times a second for all callers, so that a client with a new key need not wait for
   * the next periodic check. Null if keys never change.
   */
  checkNow(): Promise<void> | null;
  close(): Promise<void>;
}

/** A key and the keys derived from it. */
interface CachedKey {
  readonly key: RingKey;
  readonly trusted: Map<string, DirectionKeys>;
  readonly unproven: Map<string, DirectionKeys>;
}

class CachedKeys implements KeyLookup {
  readonly #clock: Clock;
  #held: ReadonlyMap<string, CachedKey> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces the keys; derived keys of unchanged ones are kept. */
  replace(keys: readonly RingKey[]): void {
    const before = this.#held;
    this.#held = new Map(
      keys.map((key) => {
        const old = before.get(key.id);
        const same = old !== undefined && Buffer.compare(old.key.secret, key.secret) === 0;
        return [key.id, { key, trusted: same ? old.trusted : new Map(), unproven: same ? old.unproven : new Map() }];
      }),
    );
  }

  find(keyId: string, client: string): DirectionKeys | null {
    const held = this.#held.get(keyId);
    if (held === undefined) return null;
    const state = stateAt(held.key, this.#clock.now());
    const known = held.trusted.get(client) ?? held.unproven.get(client);
    if (known?.state === state) return known;
    const keys = known === undefined ? derive(held.key.secret, client, state) : { ...known, state };
    if (held.trusted.has(client)) held.trusted.set(client, keys);
    else {
      if (held.unproven.size >= UNPROVEN_MAX) held.unproven.clear();
      held.unproven.set(client, keys);
    }
    return keys;
  }

  trust(keyId: string, client: string): void {
    const held = this.#held.get(keyId);
    const keys = held?.unproven.get(client);
    if (held === undefined || keys === undefined) return;
    held.unproven.delete(client);
    if (held.trusted.size >= TRUSTED_MAX) held.trusted.delete(held.trusted.keys().next().value!);
    held.trusted.set(client, keys);
  }

  list(): { id: string; state: KeyState }[] {
    const now = this.#clock.now();
    return [...this.#held.values()].map(({ key }) => ({ id: key.id, state: stateAt(key, now) }));
  }
}

function derive(secret: Uint8Array, client: string, state: KeyState): DirectionKeys {
  return { state, ...deriveSigningKeys(deriveClientKey(secret, client)) };
}

/** Creates a fixed ring, for a single secret from the settings and for tests. */
export function memoryKeyRing(
  keys: readonly (Pick<RingKey, 'id' | 'secret'> & Partial<RingKey>)[],
  clock: Clock,
): KeyRing {
  const ring = keys.map((key): RingKey => ({ state: 'active', created_at: clock.now(), retire_at: null, ...key }));
  const fault = ringFault(ring);
  if (fault !== null) throw new TypeError(fault);
  const held = new CachedKeys(clock);
  held.replace(ring);
  return {
    find: (keyId, client) => held.find(keyId, client),
    trust: (keyId, client) => held.trust(keyId, client),
    list: () => held.list(),
    checkNow: () => null,
    close: () => Promise.resolve(),
  };
}

export interface KeyRingFileOptions {
  path: string;
  clock: Clock;
  log: Logger;
  /** Called after changed keys are in use; not for the first read. */
  onChange?: (keys: readonly { readonly id: string; readonly state: KeyState }[]) => void;
}

/**
 * Opens a key ring file, reloaded within two seconds of a change; an unusable file leaves the ring unchanged.
 *
 * @throws KeyFileError if the file is unusable now
 */
export async function openKeyRingFile({ path, clock, log, onChange }: KeyRingFileOptions): Promise<KeyRing> {
  const held = new CachedKeys(clock);
  let first = true;
  const apply = async (): Promise<void> => {
    held.replace(await readKeyRing(path));
    if (!first) onChange?.(held.list());
    first = false;
  };
  const watch = await FileWatch.open({ name: 'key ring', paths: [path], clock, log, apply });
  let next: Promise<void> | null = null;
  let checkedAt = -CHECK_INTERVAL_MS;
  const checkFile = async (): Promise<void> => {
    const waitMs = checkedAt + CHECK_INTERVAL_MS - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs);
    checkedAt = clock.monotonic();
    // Later callers need another check, because the file may change after it was read.
    next = null;
    await watch.check();
  };
  return {
    find: (keyId, client) => held.find(keyId, client),
    trust: (keyId, client) => held.trust(keyId, client),
    list: () => held.list(),
    checkNow: () => (next ??= Promise.resolve().then(checkFile)),
    close: () => watch.close(),
  };
}
