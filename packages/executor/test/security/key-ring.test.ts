import assert from 'node:assert/strict';
import { chmodSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { deriveClientKey, deriveSigningKeys } from '../../src/protocol/mac.ts';
import {
  clientSigner,
  credentialsFor,
  parseClientCredentials,
  readClientCredentials,
} from '../../src/security/client-credentials.ts';
import { formatKeyRing, parseKeyRing, type RingKey } from '../../src/security/key-ring-file.ts';
import { memoryKeyRing, openKeyRingFile, type KeyRing } from '../../src/security/key-ring.ts';
import type { KeyState } from '../../src/security/port.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger, type Logger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { inDirectory, openFixture, outcome, received, signed } from '../support/security/fixture.ts';

const NOW = 1_700_000_000_000;

function ringKey(fill: number, fields: Partial<RingKey> = {}): RingKey {
  const secret = new Uint8Array(32).fill(fill);
  return { id: `k${fill}`, secret, state: 'active', created_at: NOW, retire_at: null, ...fields };
}

/** Written at once: a check between content and mode would see two changes. */
function write(path: string, text: string, mode = 0o600): void {
  const beside = `${path}.new`;
  writeFileSync(beside, text, { mode });
  chmodSync(beside, mode);
  renameSync(beside, path);
}

async function withRingFile(
  run: (
    ring: KeyRing,
    path: string,
    clock: VirtualClock,
    reported: { errors: string[]; changes: unknown[] },
  ) => Promise<void>,
): Promise<void> {
  await inDirectory(async (directory) => {
    const path = join(directory, 'keys.json');
    write(path, formatKeyRing([ringKey(1)]));
    const clock = new VirtualClock(NOW);
    const reported = { errors: [] as string[], changes: [] as unknown[] };
    const log: Logger = {
      ...silentLogger,
      error: (fields) => reported.errors.push(String((fields as { err: unknown }).err)),
    };
    const ring = await openKeyRingFile({ path, clock, log, onChange: (keys) => reported.changes.push(keys) });
    try {
      await run(ring, path, clock, reported);
    } finally {
      await ring.close();
    }
  });
}

/** Files are read in real time rather than virtual time. */
async function afterPolls(clock: VirtualClock, probe: () => boolean, what: string): Promise<void> {
  await eventually(async () => {
    await clock.advance(2_000);
    return probe();
  }, what);
}

test('a ring is read back as written', () => {
  const keys = [
    ringKey(1),
    ringKey(2, { state: 'accepted', retire_at: NOW + 5_000 }),
    ringKey(3, { state: 'retired' }),
  ];
  assert.deepEqual(parseKeyRing(Buffer.from(formatKeyRing(keys)), 'x'), keys);
});

test('a key is retired at its time without a change of the file', () => {
  const clock = new VirtualClock(NOW);
  const ring = memoryKeyRing([ringKey(1), ringKey(2, { state: 'accepted', retire_at: NOW + 1_000 })], clock);
  const stateOf = (): KeyState | undefined => ring.find('k2', 'alice')?.state;
  assert.equal(stateOf(), 'accepted');
  ring.trust('k2', 'alice');
  void clock.advance(1_000);
  return eventually(() => stateOf() === 'retired', 'the key to be retired').then(() => {
    assert.deepEqual(ring.list(), [
      { id: 'k1', state: 'active' },
      { id: 'k2', state: 'retired' },
    ]);
  });
});

test('a changed file is used within two polls, also if renamed into place or linked', () =>
  withRingFile(async (ring, path, clock, { changes }) => {
    write(path, formatKeyRing([ringKey(2), ringKey(1, { state: 'accepted' })]));
    await afterPolls(clock, () => ring.find('k2', 'a') !== null, 'the new key');
    write(`${path}.new`, formatKeyRing([ringKey(3)]));
    renameSync(`${path}.new`, path);
    await afterPolls(clock, () => ring.find('k3', 'a') !== null, 'the renamed file to be read');
    assert.equal(ring.find('k2', 'a'), null);
    write(`${path}.target`, formatKeyRing([ringKey(4)]));
    symlinkSync(`${path}.target`, `${path}.link`);
    renameSync(`${path}.link`, path);
    await afterPolls(clock, () => ring.find('k4', 'a') !== null, "the link's target to be read");
    assert.equal(changes.length, 3);
    assert.deepEqual(changes[2], [{ id: 'k4', state: 'active' }]);
  }));

const BROKEN: readonly [string, string, number][] = [
  ['truncated', formatKeyRing([ringKey(2)]).slice(0, 60), 0o600],
  ['empty', '', 0o600],
  ['readable by others', formatKeyRing([ringKey(2)]), 0o644],
  ['readable by the group', formatKeyRing([ringKey(2)]), 0o640],
  ['without an active key', formatKeyRing([ringKey(2, { state: 'accepted' })]), 0o600],
  ['with a duplicate id', formatKeyRing([ringKey(2), ringKey(3, { id: 'k2' })]), 0o600],
  ['with a duplicate secret', formatKeyRing([ringKey(2), ringKey(2, { id: 'k9' })]), 0o600],
];

for (const [name, text, mode] of BROKEN) {
  test(`an unusable file leaves the ring unchanged, and is logged once: ${name}`, () =>
    withRingFile(async (ring, path, clock, { errors }) => {
      write(path, text, mode);
      await afterPolls(clock, () => errors.length > 0, 'the error is logged');
      for (let polls = 0; polls < 5; polls++) await clock.advance(2_000);
      assert.equal(ring.find('k1', 'a')?.state, 'active');
      assert.equal(ring.find('k2', 'a'), null);
      assert.equal(errors.length, 1);
      write(path, formatKeyRing([ringKey(5)]));
      await afterPolls(clock, () => ring.find('k5', 'a') !== null, 'the fixed file to be read');
    }));
}

test('a call with a newly written key is accepted without waiting for the next poll', () =>
  withRingFile(async (ring, path, clock) => {
    const fixture = await openFixture({ keys: ring, clock });
    write(path, formatKeyRing([ringKey(7), ringKey(1, { state: 'accepted' })]));
    const request = signed(clock, { key_id: 'k7' }, ringKey(7).secret);
    assert.equal((await outcome(fixture.authenticator.authenticate(received(request)))).code, 'ok');
  }));

test('unknown keys trigger at most five file checks per second', () =>
  withRingFile(async (ring, path, clock, { changes }) => {
    await ring.checkNow();
    const looks = Array.from({ length: 1_000 }, () => ring.checkNow());
    assert.equal(new Set(looks).size, 1);
    write(path, formatKeyRing([ringKey(8)]));
    const waited = clock.monotonic();
    void clock.advance(200);
    await looks[0];
    assert.equal(clock.monotonic() - waited, 200);
    assert.equal(changes.length, 1, 'a check sees all earlier writes');
  }));

test('made-up names evict no known client: derived keys of unproven callers are cached separately', () => {
  const ring = memoryKeyRing([ringKey(1)], new VirtualClock(NOW));
  const known = ring.find('k1', 'alice');
  ring.trust('k1', 'alice');
  for (let stranger = 0; stranger < 2_000; stranger++) ring.find('k1', `stranger-${stranger}`);
  assert.equal(ring.find('k1', 'alice'), known, 'the same cached keys');
  const first = ring.find('k1', 'bob');
  for (let stranger = 0; stranger < 2_000; stranger++) ring.find('k1', `stranger-${stranger}`);
  assert.notEqual(ring.find('k1', 'bob'), first);
  assert.deepEqual(ring.find('k1', 'bob'), first);
});

test('names of the prototype are ordinary clients', () => {
  const ring = memoryKeyRing([ringKey(1)], new VirtualClock(NOW));
  for (const client of ['__proto__', 'constructor', 'toString']) {
    const { request } = deriveSigningKeys(deriveClientKey(ringKey(1).secret, client));
    assert.deepEqual(ring.find('k1', client)?.request, request);
  }
});

test("a client's file contains only its own key, and signs with the first", () =>
  inDirectory(async (directory) => {
    const path = join(directory, 'client.json');
    const credentials = credentialsFor('alice', 'executors', [ringKey(2), ringKey(1)]);
    assert.ok(!JSON.stringify(credentials).includes(Buffer.from(ringKey(2).secret).toString('base64url')));
    write(path, JSON.stringify(credentials));
    const signer = clientSigner(await readClientCredentials(path));
    const keys = deriveSigningKeys(deriveClientKey(ringKey(2).secret, 'alice'));
    assert.deepEqual(signer, { client: 'alice', audience: 'executors', keyId: 'k2', keys });
    chmodSync(path, 0o604);
    await assert.rejects(readClientCredentials(path), /mode 0604 allows others to read it; run: chmod 600/);
    await assert.rejects(readClientCredentials(join(directory, 'none')), /cannot be read/);
  }));

const SECRET = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const FILE = { version: 1, client: 'alice', audience: 'a', keys: [{ id: 'k1', secret: SECRET }] };
const FAULTS: readonly [object, RegExp][] = [
  [{ version: 2 }, /version: must be 1/],
  [{ client: 'аlice' }, /client: must be/],
  [{ audience: '' }, /audience: must be/],
  [{ keys: [] }, /keys: must be a list/],
  [{ keys: [{ id: 'k 1', secret: SECRET }] }, /keys\[0\].id: must be/],
  [{ keys: [{ id: 'k1', secret: `${SECRET.slice(1)}B` }] }, /keys\[0\].secret: must be 32 bytes/],
  [{ keys: [{ id: 'k1', secret: `${SECRET}=` }] }, /keys\[0\].secret: must be 32 bytes/],
  [{ keys: ['k1'] }, /keys\[0\]: must be a JSON object/],
];

test('invalid credentials are rejected, naming the place', () => {
  assert.deepEqual(parseClientCredentials(FILE, 'x'), FILE);
  for (const [change, fault] of FAULTS) {
    assert.throws(
      () => parseClientCredentials({ ...FILE, ...change }, 'client.json'),
      (error) => error instanceof Error && error.message.startsWith('client.json: ') && fault.test(error.message),
    );
  }
});
