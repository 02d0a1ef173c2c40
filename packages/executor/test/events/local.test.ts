import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { clockAhead } from '../support/events/clock-ahead.ts';
import { directory, eventModule, failureOf, NEVER, openRegistry, runEvent, write } from '../support/events/fixture.ts';

test('a local event is copied, described outside this process, and runs', async (t) => {
  const below = await directory(t);
  await write(below, { 'greet/index.js': eventModule('Greet', '`hello ${args.name}`', 'timeout_secs: 7,') });
  const { registry, audit, codeDirectory } = await openRegistry(t, below, {
    events: [{ name: 'Greet', type: 'local', path: 'greet' }],
  });
  assert.deepEqual(registry.names(), ['Greet']);
  using resolved = await registry.resolve('Greet', NEVER);
  assert.equal(await runEvent(resolved, { name: 'Ada' }), 'hello Ada');
  assert.equal(resolved.source, 'local');
  assert.deepEqual(resolved.definition, {
    name: 'Greet',
    timeout_secs: 7,
    memory_mb: null,
    tier: null,
    idempotent: false,
  });
  assert.equal(resolved.code.directory, join(codeDirectory, resolved.code.digest));
  assert.deepEqual(registry.peek('Greet'), {
    digest: resolved.code.digest,
    source: 'local',
    definition: resolved.definition,
  });
  assert.deepEqual(audit, [{ action: 'pulled', event_name: 'Greet', source: 'local', digest: resolved.code.digest }]);
  assert.equal((await stat(resolved.code.directory)).mode & 0o777, 0o555);
  assert.equal((await stat(join(resolved.code.directory, 'index.js'))).mode & 0o777, 0o444);
});

test('later changes in the local directory do not affect running code', async (t) => {
  const below = await directory(t);
  await write(below, { 'e/index.js': eventModule('E', '1') });
  const { registry } = await openRegistry(t, below, { events: [{ name: 'E', type: 'local', path: 'e' }] });
  await write(below, { 'e/index.js': eventModule('E', '2') });
  using resolved = await registry.resolve('E', NEVER);
  assert.equal(await runEvent(resolved), 1);
});

test("event code is never evaluated in the registry's process", async (t) => {
  const below = await directory(t);
  const loaded = join(below, 'loaded');
  await mkdir(loaded);
  await chmod(loaded, 0o777);
  const recording = [
    "import { writeFileSync } from 'node:fs';",
    "import { defineEvent } from '@heddle/kit/event';",
    `writeFileSync(${JSON.stringify(`${loaded}/`)} + process.pid, '');`,
    "export default defineEvent({ name: 'Pid', run: () => process.pid });",
  ].join('\n');
  await write(below, { 'pid/index.js': recording });
  const { registry } = await openRegistry(t, below, { events: [{ name: 'Pid', type: 'local', path: 'pid' }] });
  using resolved = await registry.resolve('Pid', NEVER);
  const ran = (await runEvent(resolved)) as number;
  const pids = (await readdir(loaded)).map(Number);
  assert.ok(pids.length >= 2, 'once to be described and once to run');
  assert.ok(pids.includes(ran));
  assert.ok(!pids.includes(process.pid), 'the code was evaluated in this process');
});

test('every module directly in a directory registers its events; subdirectories are for imports', async (t) => {
  const below = await directory(t);
  await write(below, {
    'events/one.js': "export { default } from './lib/shared.js';",
    'events/lib/shared.js': eventModule('One', '"one"'),
    'events/two.ts': [
      "import { defineEvent, type EventContext } from '@heddle/kit/event';",
      "export const a = defineEvent({ name: 'Two.a', run: (args: object, context: EventContext) => 'a' });",
      "export const b = defineEvent({ name: 'Two.b', idempotent: true, memory_mb: 9999, tier: 'jail', run: () => 'b' });",
    ].join('\n'),
    'events/two.test.ts': 'throw new Error("not a module of events")',
    'events/.env': 'SECRET=1',
    'events/README.md': '# Events',
  });
  const { registry } = await openRegistry(t, below, { eventsDirectory: join(below, 'events') });
  assert.deepEqual(registry.names(), ['One', 'Two.a', 'Two.b']);
  using one = await registry.resolve('One', NEVER);
  using two = await registry.resolve('Two.b', NEVER);
  assert.equal(await runEvent(one), 'one');
  assert.equal(await runEvent(two), 'b');
  assert.equal(one.code.digest, two.code.digest);
  assert.equal(two.code.entry, 'two.ts');
  assert.equal(two.definition.idempotent, true);
  assert.equal(two.definition.memory_mb, 256, "code cannot exceed the executor's memory");
  assert.equal(two.definition.tier, 'jail', 'code can require a stronger tier');
  assert.ok(!(await readdir(one.code.directory)).includes('.env'));
});

test('code cannot weaken the tier; the operator can tighten limits but not silently exceed them', async (t) => {
  const below = await directory(t);
  await write(below, { 'w/index.js': eventModule('W', '1', "tier: 'pooled', timeout_secs: 5,") });
  const entry = { name: 'W', type: 'local', path: 'w' };
  const asked = await openRegistry(t, below, { events: [entry] });
  using weak = await asked.registry.resolve('W', NEVER);
  assert.deepEqual([weak.definition.tier, weak.definition.timeout_secs], [null, 5]);
  const reported = await openRegistry(t, below, {
    events: [{ ...entry, tier: 'jail', timeout_secs: 20, memory_mb: 64 }],
  });
  using strong = await reported.registry.resolve('W', NEVER);
  assert.deepEqual(
    [strong.definition.tier, strong.definition.timeout_secs, strong.definition.memory_mb],
    ['jail', 20, 64],
  );
  const wide = { ...entry, tier: 'pooled', timeout_secs: 301, memory_mb: 257 };
  const failure = await failureOf(openRegistry(t, below, { events: [wide] }));
  assert.match(failure, /events\[0\] of .*: timeout_secs exceeds the executor's limit of 300/);
  assert.match(failure, /memory_mb exceeds the executor's limit of 256/);
  assert.match(failure, /tier pooled is weaker than the executor's process/);
});

test('two registrations of one name prevent the start, naming both places', async (t) => {
  const below = await directory(t);
  await write(below, {
    'a/index.js': eventModule('Same'),
    'b/index.js': eventModule('Same'),
    'd/c.js': eventModule('Same'),
  });
  const listed = [
    { name: 'Same', type: 'local', path: 'a' },
    { name: 'Same', type: 'local', path: 'b' },
  ];
  const twice = await failureOf(openRegistry(t, below, { events: listed }));
  assert.match(twice, /events\[1\] of .*events\.json: the event Same is already registered by events\[0\] of/);
  const both = await failureOf(
    openRegistry(t, below, { events: listed.slice(0, 1), eventsDirectory: join(below, 'd') }),
  );
  assert.match(both, /c\.js of .*: the event Same is already registered by events\[0\] of/);
});

test('names are exact: case, other alphabets and names of Object members do not match', async (t) => {
  const below = await directory(t);
  await write(below, { 'e/index.js': eventModule('Event') });
  const { registry } = await openRegistry(t, below, { events: [{ name: 'Event', type: 'local', path: 'e' }] });
  const names = [
    'event',
    'EVENT',
    'Event ',
    'Еvent',
    'Ｅvent',
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    '',
  ];
  for (const name of names) {
    assert.equal(registry.has(name), false, name);
    assert.equal(registry.peek(name), null, name);
    assert.match(await failureOf(registry.resolve(name, NEVER)), /^EVENT_NOT_REGISTERED/, name);
  }
});

test('names of Object members work as event names', async (t) => {
  const below = await directory(t);
  const names = ['constructor', '__proto__', 'toString'];
  const text = [
    "import { defineEvent } from '@heddle/kit/event';",
    `export default ${JSON.stringify(names)}.map((name) => defineEvent({ name, run: () => name }));`,
  ].join('\n');
  await write(below, { 'e/index.js': text });
  const events = names.map((name) => ({ name, type: 'local', path: 'e' }));
  const { registry } = await openRegistry(t, below, { events });
  assert.deepEqual(registry.names(), [...names].sort());
  for (const name of names) {
    using resolved = await registry.resolve(name, NEVER);
    assert.equal(await runEvent(resolved), name);
  }
});

test('an entry whose code does not define its name lists the defined names', async (t) => {
  const below = await directory(t);
  await write(below, { 'e/index.js': eventModule('Other') });
  const failure = await failureOf(openRegistry(t, below, { events: [{ name: 'E', type: 'local', path: 'e' }] }));
  assert.match(failure, /events\[0\] of .*: its code does not define E; it defines Other/);
});

test('faults in local code are reported at startup, for every entry', async (t) => {
  const below = await directory(t);
  await write(below, {
    'throws/index.js': 'throw new Error("at load")',
    'links/index.js': eventModule('Links'),
    'pinned/index.js': eventModule('Pinned'),
    'many/a.js': '',
    'many/b.js': '',
    'none.js': 'export const x = 1;',
    'd/none.js': 'export const x = 1;',
  });
  await symlink('/etc/passwd', join(below, 'links/passwd'));
  const failure = await failureOf(
    openRegistry(t, below, {
      events: [
        { name: 'Throws', type: 'local', path: 'throws' },
        { name: 'Links', type: 'local', path: 'links' },
        { name: 'Pinned', type: 'local', path: 'pinned', sha256: '0'.repeat(64) },
        { name: 'Absent', type: 'local', path: 'absent' },
        { name: 'Many', type: 'local', path: 'many' },
        { name: 'Entry', type: 'local', path: 'many', entry: 'c.js' },
        { name: 'None', type: 'local', path: 'none.js' },
      ],
      eventsDirectory: join(below, 'd'),
    }),
  );
  assert.match(failure, /events\[0\].*at load/);
  assert.match(failure, /events\[1\].*passwd is a link/);
  assert.match(failure, /events\[2\].*does not match the pinned sha256: it has [0-9a-f]{64}/);
  assert.match(failure, /events\[3\].*no such file or directory/);
  assert.match(failure, /events\[4\].*has no default module/);
  assert.match(failure, /events\[5\].*its module "c\.js" does not exist/);
  assert.match(failure, /events\[6\].*does not define None; it defines no events/);
  assert.match(failure, /none\.js of .*exports no events/);
});

test('code that was changed in the store is detected and replaced before it runs', async (t) => {
  const below = await directory(t);
  await write(below, { 'e/index.js': eventModule('E', '"good"') });
  let now = 0;
  const clock = clockAhead(() => now);
  const { registry } = await openRegistry(t, below, { events: [{ name: 'E', type: 'local', path: 'e' }], clock });
  let directoryOfCode: string;
  {
    using resolved = await registry.resolve('E', NEVER);
    directoryOfCode = resolved.code.directory;
    await chmod(directoryOfCode, 0o755);
    await chmod(join(directoryOfCode, 'index.js'), 0o644);
    await writeFile(join(directoryOfCode, 'index.js'), eventModule('E', '"evil"'));
    now += 2_000;
    // While in use it can neither run nor be replaced.
    assert.match(await failureOf(registry.resolve('E', NEVER)), /^EVENT_UNAVAILABLE.*changed on disk while in use/);
  }
  using again = await registry.resolve('E', NEVER);
  assert.equal(await runEvent(again), 'good');
  // An additional file is a change as well.
  await chmod(directoryOfCode, 0o755);
  await write(directoryOfCode, { 'package.json': '{"main":"evil.js"}' });
  again[Symbol.dispose]();
  now += 2_000;
  using third = await registry.resolve('E', NEVER);
  assert.deepEqual(await readdir(third.code.directory), ['index.js']);
});
