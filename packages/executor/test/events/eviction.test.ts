import assert from 'node:assert/strict';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { sweptClock } from '../support/events/clock-ahead.ts';
import { directory, eventModule, failureOf, NEVER, openRegistry, runEvent, write } from '../support/events/fixture.ts';
import { npmPack, NpmRegistry } from '../support/events/sources/npm-registry.ts';

/** Sets up a registry with a package of two events. */
async function setUp(t: Parameters<typeof directory>[0] & Parameters<typeof npmPack>[0]) {
  const text = [
    "import { defineEvent } from '@heddle/kit/event';",
    "export const a = defineEvent({ name: 'A', run: () => 'a' });",
    "export const b = defineEvent({ name: 'B', run: () => 'b' });",
  ].join('\n');
  const packed = await npmPack(t, { 'index.js': text });
  const npm = await NpmRegistry.open(t, packed);
  const entry = { type: 'npm', package: packed.name, version: packed.version, integrity: packed.integrity };
  return { npm, entry, below: await directory(t) };
}

test('idle code is evicted after its time, never while in use, and fetched again on demand', async (t) => {
  const { npm, entry, below } = await setUp(t);
  let ahead = 0;
  const { clock, sweeps } = sweptClock(() => ahead);
  const { registry, codeDirectory, audit, pulled, described } = await openRegistry(t, below, {
    events: [
      { name: 'A', ...entry },
      { name: 'B', ...entry },
    ],
    npmRegistry: npm.url,
    // Swept every 250 ms.
    ephemeralTtlSecs: 1,
    clock,
  });
  const first = await registry.resolve('A', NEVER);
  const second = await registry.resolve('B', NEVER);
  assert.equal(npm.downloads, 1, 'events of a package share its code');
  const { digest } = first.code;
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  ahead += 3_600_000;
  const before = sweeps();
  await eventually(() => sweeps() >= before + 2, 'a complete sweep since then');
  assert.deepEqual(await readdir(codeDirectory), [digest], 'B still uses it');
  assert.equal(await runEvent(second), 'b');
  second[Symbol.dispose]();
  ahead += 3_600_000;
  await eventually(async () => (await readdir(codeDirectory)).length === 0, 'the code is deleted');
  await eventually(
    () => audit.filter(({ action }) => action === 'evicted').length === 2,
    'both evictions in the audit log',
  );
  assert.equal(registry.peek('A')?.digest, digest, 'its description is remembered');
  assert.equal(registry.peek('A')?.definition?.name, 'A');
  using again = await registry.resolve('A', NEVER);
  assert.equal(await runEvent(again), 'a');
  assert.equal(npm.downloads, 2);
  assert.deepEqual(pulled, ['npm', 'npm']);
  assert.equal(described(), 1, 'unchanged code is not described again');
});

test('code is never evicted while concurrent users resolve and release it', async (t) => {
  const { npm, entry, below } = await setUp(t);
  const { clock, sweeps } = sweptClock(() => 0);
  const { registry, codeDirectory } = await openRegistry(t, below, {
    events: [{ name: 'A', ...entry }],
    npmRegistry: npm.url,
    ephemeralTtlSecs: 0.02,
    clock,
  });
  let uses = 0;
  const user = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn += 1) {
      using resolved = await registry.resolve('A', NEVER);
      assert.deepEqual(await readdir(resolved.code.directory), ['index.js', 'package.json']);
      uses += 1;
      const before = sweeps();
      if (turn % 10 === 0) await eventually(() => sweeps() >= before + 2, 'a complete sweep meanwhile');
      assert.deepEqual(await readdir(resolved.code.directory), ['index.js', 'package.json']);
    }
  };
  await Promise.all(Array.from({ length: 8 }, user));
  assert.equal(uses, 320);
  await eventually(async () => (await readdir(codeDirectory)).length === 0, 'all code is evicted in the end');
});

test('non-ephemeral code survives a restart without network; ephemeral code does not', async (t) => {
  const { npm, entry, below } = await setUp(t);
  const events = [
    { name: 'A', ...entry, ephemeral: false },
    { name: 'B', ...entry, entry: 'index.js' },
  ];
  const options = { events, npmRegistry: npm.url };
  const first = await openRegistry(t, below, options);
  (await first.registry.resolve('A', NEVER))[Symbol.dispose]();
  await first.registry.close();
  const second = await openRegistry(t, below, options);
  const digest = second.registry.peek('A')?.digest;
  using a = await second.registry.resolve('A', NEVER);
  assert.equal(await runEvent(a), 'a');
  assert.equal(npm.downloads, 1);
  await second.registry.close();

  // Damage in the meantime is detected by the digest at startup, and the code is fetched again.
  const file = join(below, 'code', digest!, 'index.js');
  await chmod(file, 0o644);
  await writeFile(file, eventModule('A', '"evil"'));
  const third = await openRegistry(t, below, options);
  using sound = await third.registry.resolve('A', NEVER);
  assert.equal(await runEvent(sound), 'a');
  assert.equal(npm.downloads, 2);
  await third.registry.close();

  const fourth = await openRegistry(t, below, { ...options, events: [] });
  assert.deepEqual((await readdir(fourth.codeDirectory)).sort(), ['index.json'], 'unlisted code is deleted');
});

test('leftovers of an interrupted pull are removed at startup', async (t) => {
  const below = await directory(t);
  await write(below, {
    'e/index.js': eventModule('E', '1'),
    'code/.incoming-abc/index.js': 'half',
    'code/.outgoing-1-abc/index.js': 'half',
    'code/index.json': '{"version":1,"codes":{"x":"../../etc"}',
  });
  const stale = join('code', 'a'.repeat(64));
  await write(below, { [`${stale}/x.js`]: 'not what its name says' });
  const { registry, codeDirectory } = await openRegistry(t, below, {
    events: [{ name: 'E', type: 'local', path: 'e' }],
  });
  using resolved = await registry.resolve('E', NEVER);
  assert.deepEqual((await readdir(codeDirectory)).sort(), [resolved.code.digest, 'index.json'].sort());
});

test('closing aborts pulls in progress', async (t) => {
  const { npm, entry, below } = await setUp(t);
  npm.answers.set(npm.archivePath, () => undefined);
  const { registry, codeDirectory } = await openRegistry(t, below, {
    events: [{ name: 'A', ...entry }],
    npmRegistry: npm.url,
  });
  const resolving = failureOf(registry.resolve('A', NEVER));
  await eventually(() => npm.downloads === 1, 'the pull is under way');
  await registry.close();
  assert.match(await resolving, /the executor is stopping/);
  assert.deepEqual(await readdir(codeDirectory), []);
});
