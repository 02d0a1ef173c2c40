import { deriveClientKey } from '../protocol/mac.ts';
import { isKeyId, isSecret, KEYS_MAX, record, secretBytes, secretText } from './key-fields.ts';
import { KeyFileError } from './key-file-error.ts';
import type { KeyState } from './port.ts';
import { parseKeyJson, readSecretFile } from './secret-file.ts';

/** A master secret and its id. */
export interface RingKey {
  readonly id: string;
  /** At least 32 bytes. */
  readonly secret: Uint8Array;
  readonly state: KeyState;
  /** Milliseconds since the epoch. */
  readonly created_at: number;
  /** Time at which the key is retired regardless of its state; null if not set. */
  readonly retire_at: number | null;
}

const STATES: ReadonlySet<unknown> = new Set(['active', 'accepted', 'retired'] satisfies KeyState[]);

/** @throws KeyFileError if the file is unreadable, accessible to others, or not a key ring */
export async function readKeyRing(path: string): Promise<RingKey[]> {
  return parseKeyRing(await readSecretFile(path), path);
}

/** @param source name in errors */
export function parseKeyRing(bytes: Buffer, source: string): RingKey[] {
  const { version, keys } = record(parseKeyJson(bytes, source), source);
  if (version !== 1)
    throw new KeyFileError(`${source}: version: must be 1; expected a key ring created by \`heddle keys\``);
  if (!Array.isArray(keys) || keys.length > KEYS_MAX) {
    throw new KeyFileError(`${source}: keys: must be a list of at most ${KEYS_MAX}`);
  }
  const ring = keys.map((key: unknown, index) => parseKey(key, `${source}: keys[${index}]`));
  const fault = ringFault(ring);
  if (fault !== null) throw new KeyFileError(`${source}: ${fault}`);
  return ring;
}

/** Returns why keys are not a valid ring together; null if they are. */
export function ringFault(keys: readonly RingKey[]): string | null {
  if (!keys.some(({ state }) => state === 'active')) return 'keys: no key is active; run `heddle keys rotate`';
  const ids = new Set(keys.map(({ id }) => id));
  if (ids.size < keys.length) return 'keys: two keys have the same id';
  // Reusing a secret under another id is not a rotation.
  const secrets = new Set(keys.map(({ secret }) => secretText(deriveClientKey(secret, 'ring'))));
  return secrets.size < keys.length ? 'keys: two keys have the same secret' : null;
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

/** Returns the content of a key ring's file. */
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

/** Returns the state of a key at a time. */
export function stateAt(key: RingKey, nowMs: number): KeyState {
  return key.retire_at !== null && nowMs >= key.retire_at ? 'retired' : key.state;
}
