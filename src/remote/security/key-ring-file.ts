import { deriveClientKey } from '../protocol/mac.ts';
import { isKeyId, isSecret, KEYS_MAX, record, secretBytes, secretText } from './key-fields.ts';
import { KeyFileError } from './key-file-error.ts';
import type { KeyState } from './port.ts';
import { parseKeyJson, readSecretFile } from './secret-file.ts';

/** One master secret with its id. */
export interface RingKey {
  readonly id: string;
  /** 32 bytes or more. */
  readonly secret: Uint8Array;
  readonly state: KeyState;
  /** Milliseconds since the epoch. */
  readonly created_at: number;
  /** From then on the key is retired, whatever its state says; null where no time is set. */
  readonly retire_at: number | null;
}

const STATES: ReadonlySet<unknown> = new Set(['active', 'accepted', 'retired'] satisfies KeyState[]);

/** @throws KeyFileError where it cannot be read, is open to others, or is no key ring */
export async function readKeyRing(path: string): Promise<RingKey[]> {
  return parseKeyRing(await readSecretFile(path), path);
}

/** @param source what errors name */
export function parseKeyRing(bytes: Buffer, source: string): RingKey[] {
  const { version, keys } = record(parseKeyJson(bytes, source), source);
  if (version !== 1) throw new KeyFileError(`${source}: version: must be 1; is this a key ring of \`heddle keys\`?`);
  if (!Array.isArray(keys) || keys.length > KEYS_MAX) {
    throw new KeyFileError(`${source}: keys: must be a list of at most ${KEYS_MAX}`);
  }
  const ring = keys.map((key: unknown, index) => parseKey(key, `${source}: keys[${index}]`));
  const fault = ringFault(ring);
  if (fault !== null) throw new KeyFileError(`${source}: ${fault}`);
  return ring;
}

/** What keys cannot be together; null where they are a ring. */
export function ringFault(keys: readonly RingKey[]): string | null {
  if (!keys.some(({ state }) => state === 'active')) return 'keys: none is active; run `heddle keys rotate`';
  const ids = new Set(keys.map(({ id }) => id));
  if (ids.size < keys.length) return 'keys: two have the same id';
  // A secret that goes on under another id was not rotated.
  const secrets = new Set(keys.map(({ secret }) => secretText(deriveClientKey(secret, 'ring'))));
  return secrets.size < keys.length ? 'keys: two have the same secret' : null;
}

function parseKey(value: unknown, source: string): RingKey {
  const { id, secret, state, created_at, retire_at } = record(value, source);
  if (!isKeyId(id)) throw new KeyFileError(`${source}.id: must be 1 to 64 of A-Z a-z 0-9 . _ -`);
  if (!isSecret(secret)) throw new KeyFileError(`${source}.secret: must be 32 bytes in base64url, without padding`);
  if (!STATES.has(state)) throw new KeyFileError(`${source}.state: must be active, accepted or retired`);
  return {
    id,
    secret: secretBytes(secret),
    state: state as KeyState,
    created_at: time(created_at, `${source}.created_at`),
    retire_at: retire_at === undefined ? null : time(retire_at, `${source}.retire_at`),
  };
}

function time(value: unknown, source: string): number {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms)) throw new KeyFileError(`${source}: must be a time such as 2030-01-31T12:00:00Z`);
  return ms;
}

/** The text of a key ring's file. */
export function formatKeyRing(keys: readonly RingKey[]): string {
  const written = keys.map(({ id, secret, state, created_at, retire_at }) => ({
    id,
    secret: secretText(secret),
    state,
    created_at: new Date(created_at).toISOString(),
    ...(retire_at === null ? {} : { retire_at: new Date(retire_at).toISOString() }),
  }));
  return `${JSON.stringify({ version: 1, keys: written }, null, 2)}\n`;
}

/** The state of a key at a time. */
export function stateAt(key: RingKey, nowMs: number): KeyState {
  return key.retire_at !== null && nowMs >= key.retire_at ? 'retired' : key.state;
}
