import { join } from 'node:path';

import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { KEY_BYTES } from '@heddle/executor/protocol/mac';
import { CLIENT_NAME } from '@heddle/executor/protocol/envelope-shape';
import {
  credentialsFor,
  readClientCredentials,
  type ClientCredentials,
} from '@heddle/executor/security/client-credentials';
import { formatKeyRing, readKeyRing, stateAt, type RingKey } from '@heddle/executor/security/key-ring-file';
import type { Configuration } from '../config.ts';
import { CommandFailure, EXIT } from '@heddle/base/terminal/failure';
import { parseDuration } from '../tokens.ts';
import { fileNameOf, writeSecretFiles, type SecretFile } from './secret-files.ts';

const RING_FILE = 'keys.json';
/** Retired keys that a ring continues to list, so that their users get a specific error. */
const RETIRED_MAX = 50;

/** A key as it is listed, without its secret. */
export interface ListedKey {
  id: string;
  state: string;
  created_at: string;
  retires_at: string | null;
}

export interface KeysWritten {
  key_id: string;
  ring: string;
  clients: { client: string; file: string }[];
}

/** Creates a ring of one key, and a file for each client. Refuses to overwrite any of them. */
export async function generateKeys(
  directory: string,
  clients: readonly string[],
  audience: string,
): Promise<KeysWritten> {
  [...clients, audience].forEach(holdName);
  const names = clients.map(fileNameOf);
  if (new Set(names).size < names.length) throw usage('--client: two of the names map to the same file');
  const key = newKey();
  const ring = { path: join(directory, RING_FILE), text: formatKeyRing([key]) };
  const files = clients.map((client, index) => ({
    client,
    ...credentialsFile(join(directory, `client-${names[index]!}.json`), credentialsFor(client, audience, [key])),
  }));
  await writeSecretFiles([ring, ...files], false);
  return { key_id: key.id, ring: ring.path, clients: files.map(({ client, path }) => ({ client, file: path })) };
}

/**
 * Adds a signing key. Earlier keys are accepted during the grace period, then retired; the named clients' files get the
 * new key first, and keep those that are still accepted.
 */
export async function rotateKeys(
  ringPath: string,
  grace: string,
  clientFiles: readonly string[],
): Promise<KeysWritten & { retires_at: string }> {
  const graceMs = parseDuration(grace);
  if (graceMs === null) throw usage(`--grace: must be a duration such as 24h or 7d, not ${JSON.stringify(grace)}`);
  const now = systemClock.now();
  const before = await readKeyRing(ringPath);
  const key = newKey();
  const ring = [key, ...before.map((old) => aged(old, now, now + graceMs))].filter(firstRetired(RETIRED_MAX));
  const live = ring.filter((each) => stateAt(each, now) !== 'retired');
  const clients = await Promise.all(clientFiles.map((path) => readHeldCredentials(path, before)));
  const files = clients.map(({ client, audience, path }) => ({
    client,
    ...credentialsFile(path, credentialsFor(client, audience, live)),
  }));
  // The executor must have the key before a client signs with it.
  await writeSecretFiles([{ path: ringPath, text: formatKeyRing(ring) }], true);
  await writeSecretFiles(files, true);
  return {
    key_id: key.id,
    ring: ringPath,
    clients: files.map(({ client, path }) => ({ client, file: path })),
    retires_at: new Date(now + graceMs).toISOString(),
  };
}

/** Returns the file of one client, from the active keys of the ring or the one key of the settings. */
export async function clientKeys(
  configuration: Configuration,
  ring: string | undefined,
  asked: {
    client: string;
    audience: string | undefined;
    out: string | undefined;
  },
): Promise<ClientCredentials> {
  const { executorAudience, executorSecretKey } = configuration.values;
  const { client, audience = executorAudience, out } = asked;
  [client, audience].forEach(holdName);
  const single = ring === undefined && configuration.values.executorKeys === '' && executorSecretKey !== '';
  const keys = single
    ? [{ id: 'default', secret: Buffer.from(executorSecretKey, 'base64url') }]
    : (await readKeyRing(ringPathOf(configuration, ring))).filter(
        (key) => stateAt(key, systemClock.now()) === 'active',
      );
  const credentials = credentialsFor(client, audience, keys);
  if (out !== undefined) await writeSecretFiles([credentialsFile(out, credentials)], false);
  return credentials;
}

export async function listKeys(ringPath: string): Promise<ListedKey[]> {
  const now = systemClock.now();
  return (await readKeyRing(ringPath)).map((key) => ({
    id: key.id,
    state: stateAt(key, now),
    created_at: new Date(key.created_at).toISOString(),
    retires_at: key.retire_at === null ? null : new Date(key.retire_at).toISOString(),
  }));
}

/** The named ring, or that of the settings. */
export function ringPathOf({ values }: Configuration, given: string | undefined): string {
  const path = given ?? values.executorKeys;
  if (path === '') throw usage('no key ring given: use --ring FILE, or set HEDDLE_EXECUTOR_KEYS');
  return path;
}

function newKey(): RingKey {
  const now = systemClock.now();
  const day = new Date(now).toISOString().slice(0, 10);
  const suffix = Buffer.from(systemRandom.bytes(3)).toString('hex');
  return {
    id: `k-${day}-${suffix}`,
    secret: new Uint8Array(systemRandom.bytes(KEY_BYTES)),
    state: 'active',
    created_at: now,
    retire_at: null,
  };
}

/** Returns the state of a key after another one replaces it. */
function aged(key: RingKey, nowMs: number, retireAt: number): RingKey {
  const state = stateAt(key, nowMs);
  if (state === 'retired') return { ...key, state };
  // A second rotation does not extend the grace period of the first.
  return { ...key, state: 'accepted', retire_at: Math.min(key.retire_at ?? Infinity, retireAt) };
}

function firstRetired(max: number): (key: RingKey) => boolean {
  let seen = 0;
  return ({ state }) => state !== 'retired' || ++seen <= max;
}

async function readHeldCredentials(
  path: string,
  ring: readonly RingKey[],
): Promise<ClientCredentials & { path: string }> {
  const credentials = await readClientCredentials(path);
  const { client, audience, keys } = credentials;
  const own = credentialsFor(client, audience, ring).keys;
  if (!keys.some(({ id, secret }) => own.some((key) => key.id === id && key.secret === secret))) {
    throw usage(`${path}: has no key of this ring; nothing changed`);
  }
  return { ...credentials, path };
}

function credentialsFile(path: string, credentials: ClientCredentials): SecretFile {
  return { path, text: `${JSON.stringify(credentials, null, 2)}\n` };
}

function holdName(name: string): void {
  if (!CLIENT_NAME.test(name)) {
    throw usage(
      `names of clients and audiences must be 1 to 128 of A-Z a-z 0-9 . _ : @ / -, not ${JSON.stringify(name)}`,
    );
  }
}

function usage(message: string): CommandFailure {
  return new CommandFailure(message, { exitCode: EXIT.usage });
}
