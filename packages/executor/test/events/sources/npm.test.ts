import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

import { clockAhead } from '../../support/events/clock-ahead.ts';
import {
  directory,
  eventModule,
  failureOf,
  NEVER,
  openRegistry,
  runEvent,
  write,
} from '../../support/events/fixture.ts';
import { integrityOf, json, npmPack, NpmRegistry, type Packed } from '../../support/events/sources/npm-registry.ts';

function entryOf({ name, version, integrity }: Packed): Record<string, unknown> {
  return { name: 'Ping', type: 'npm', package: name, version, integrity };
}

/** Sets up a registry with one package, and events that name it. */
async function setUp(t: TestContext, manifest: object = {}) {
  const packed = await npmPack(t, { 'index.js': eventModule('Ping', '"pong"') }, manifest);
  const npm = await NpmRegistry.open(t, packed);
  return { packed, npm, below: await directory(t) };
}

test('a package is fetched on first use, and runs', async (t) => {
  const { packed, npm, below } = await setUp(t, { name: '@scope/ping' });
  const { registry, pulled, audit } = await openRegistry(t, below, {
    events: [entryOf(packed)],
    npmRegistry: npm.url,
  });
  assert.deepEqual(npm.requests, [], 'nothing is fetched at startup');
  assert.deepEqual(registry.peek('Ping'), { digest: null, source: 'npm', definition: null });
  using resolved = await registry.resolve('Ping', NEVER);
  assert.equal(await runEvent(resolved), 'pong');
  assert.equal(registry.peek('Ping')?.digest, resolved.code.digest);
  assert.deepEqual(npm.requests, [npm.documentPath, npm.archivePath]);
  assert.deepEqual(pulled, ['npm']);
  assert.deepEqual(audit, [{ action: 'pulled', event_name: 'Ping', source: 'npm', digest: resolved.code.digest }]);
});

test('a hundred concurrent callers share one pull and one description', async (t) => {
  const { packed, npm, below } = await setUp(t);
  const { registry, described } = await openRegistry(t, below, { events: [entryOf(packed)], npmRegistry: npm.url });
  const gone = new AbortController();
  const all = Array.from({ length: 100 }, (_, index) => registry.resolve('Ping', index === 7 ? gone.signal : NEVER));
  gone.abort(new Error('this caller left'));
  const settled = await Promise.allSettled(all);
  assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 99);
  assert.match(await failureOf(all[7]!), /this caller left/);
  assert.equal(npm.downloads, 1);
  assert.equal(described(), 1);
  for (const one of settled) if (one.status === 'fulfilled') one.value[Symbol.dispose]();
});

test('a package that does not match the pin is rejected, whatever the registry says', async (t) => {
  const { packed, npm, below } = await setUp(t);
  const other = await npmPack(t, { 'index.js': eventModule('Ping', '"evil"') });
  npm.answers.set(npm.archivePath, (_, response) => response.end(other.archive));
  npm.answers.set(npm.documentPath, (_, response) =>
    json(response, { dist: { tarball: `${npm.url}${npm.archivePath}`, integrity: other.integrity } }),
  );
  const { registry, codeDirectory } = await openRegistry(t, below, {
    events: [entryOf(packed)],
    npmRegistry: npm.url,
  });
  assert.match(
    await failureOf(registry.resolve('Ping', NEVER)),
    /^EVENT_UNAVAILABLE.*does not match the pinned integrity/,
  );
  assert.deepEqual(await readdir(codeDirectory), [], 'nothing of it is stored');
});

test('scripts of a package never run, neither during the pull nor later', async (t) => {
  const below = await directory(t);
  const mark = join(below, 'ran');
  const script = `node -e "require('fs').writeFileSync('${mark}', '')"`;
  const scripts = { preinstall: script, install: script, postinstall: script, prepare: script, prepack: script };
  const { packed, npm } = await setUp(t, { scripts });
  const { registry, audit } = await openRegistry(t, below, { events: [entryOf(packed)], npmRegistry: npm.url });
  using resolved = await registry.resolve('Ping', NEVER);
  assert.equal(await runEvent(resolved), 'pong');
  assert.equal(existsSync(mark), false);
  assert.ok(
    audit.some((entry) => entry.action === 'code_findings' && entry.findings.includes('install-script package.json')),
    'the install script is in the audit log',
  );
});

test("pulled code is never evaluated in the registry's process", async (t) => {
  const below = await directory(t);
  const loaded = join(below, 'loaded');
  await mkdir(loaded);
  await chmod(loaded, 0o777);
  const packed = await npmPack(t, {
    'index.js': [
      "import { writeFileSync } from 'node:fs';",
      `writeFileSync(${JSON.stringify(`${loaded}/`)} + process.pid, '');`,
      eventModule('Ping', 'process.pid'),
    ].join('\n'),
  });
  const npm = await NpmRegistry.open(t, packed);
  const { registry } = await openRegistry(t, below, { events: [entryOf(packed)], npmRegistry: npm.url });
  using resolved = await registry.resolve('Ping', NEVER);
  const ran = await runEvent(resolved);
  const pids = (await readdir(loaded)).map(Number);
  assert.ok(pids.includes(ran as number) && pids.length >= 2, 'once to be described and once to run');
  assert.ok(!pids.includes(process.pid), 'the code was evaluated in this process');
});

test('only bundled dependencies are available; nothing else is fetched', async (t) => {
  const below = await directory(t);
  const packed = await npmPack(
    t,
    {
      'index.js': `import { word } from 'bundled';\n${eventModule('Ping', 'word')}`,
      'node_modules/bundled/package.json': '{"name":"bundled","version":"1.0.0","type":"module","main":"i.js"}',
      'node_modules/bundled/i.js': 'export const word = "bundled";',
    },
    { dependencies: { bundled: '1.0.0' }, bundleDependencies: ['bundled'] },
  );
  const npm = await NpmRegistry.open(t, packed);
  const { registry } = await openRegistry(t, below, { events: [entryOf(packed)], npmRegistry: npm.url });
  using resolved = await registry.resolve('Ping', NEVER);
  assert.equal(await runEvent(resolved), 'bundled');
  assert.equal(npm.requests.length, 2);
});

test('a redirect on the same host is followed; one to another host is not, nor is an archive there', async (t) => {
  const { packed, npm, below } = await setUp(t);
  const foreign = await NpmRegistry.open(t, packed);
  const { registry } = await openRegistry(t, below, {
    events: [entryOf(packed), { ...entryOf(packed), name: 'Other', entry: 'index.js', ephemeral: false }],
    npmRegistry: npm.url,
  });
  npm.answers.set(npm.archivePath, (_, response) =>
    response.writeHead(302, { location: `${foreign.url}${foreign.archivePath}` }).end(),
  );
  assert.match(await failureOf(registry.resolve('Ping', NEVER)), /redirected to another host/);
  npm.answers.delete(npm.archivePath);
  npm.answers.set(npm.documentPath, (_, response) =>
    json(response, npm.document(`${foreign.url}${foreign.archivePath}`)),
  );
  assert.match(await failureOf(registry.resolve('Other', NEVER)), /archive is on another host/);
  assert.deepEqual(foreign.requests, []);

  const moved = await openRegistry(t, await directory(t), { events: [entryOf(packed)], npmRegistry: npm.url });
  npm.answers.set(npm.documentPath, (_, response) => response.writeHead(307, { location: '/elsewhere' }).end());
  npm.answers.set('/elsewhere', (_, response) => json(response, npm.document()));
  using resolved = await moved.registry.resolve('Ping', NEVER);
  assert.equal(resolved.name, 'Ping');
});

test('a token is sent to a private registry with both requests, and never unencrypted', async (t) => {
  const { packed, npm, below } = await setUp(t);
  const sent: (string | undefined)[] = [];
  npm.answers.set(npm.documentPath, ({ headers }, response) => {
    sent.push(headers.authorization);
    json(response, npm.document());
  });
  npm.answers.set(npm.archivePath, ({ headers }, response) => {
    sent.push(headers.authorization);
    response.end(packed.archive);
  });
  const entry = { ...entryOf(packed), token_file: 'token' };
  const events = [entry, { ...entry, name: 'Plain', registry: 'http://registry.invalid' }];
  const { registry } = await openRegistry(t, below, { events, npmRegistry: npm.url });
  assert.match(await failureOf(registry.resolve('Ping', NEVER)), /its token file cannot be read/);
  assert.match(await failureOf(registry.resolve('Plain', NEVER)), /its token can only be sent over https/);
  await write(below, { token: 'npm_secret\n' });
  const again = await openRegistry(t, below, { events, npmRegistry: npm.url });
  (await again.registry.resolve('Ping', NEVER))[Symbol.dispose]();
  assert.deepEqual(sent, ['Bearer npm_secret', 'Bearer npm_secret']);
});

interface BadAnswer {
  name: string;
  at: 'document' | 'archive';
  answer: Parameters<NpmRegistry['answers']['set']>[1];
  refused: RegExp;
}

const LOOP = (path: string) => ({ location: path });
const BAD_ANSWERS: readonly BadAnswer[] = [
  {
    name: 'no such package',
    at: 'document',
    answer: (_, r) => r.writeHead(404).end(),
    refused: /responded with status 404/,
  },
  { name: 'no JSON', at: 'document', answer: (_, r) => r.end('<html>'), refused: /response is not JSON/ },
  { name: 'JSON that is null', at: 'document', answer: (_, r) => r.end('null'), refused: /response is not JSON/ },
  {
    name: 'no archive named',
    at: 'document',
    answer: (_, r) => json(r, {}),
    refused: /does not name the package archive/,
  },
  {
    name: 'an archive in a file',
    at: 'document',
    answer: (_, r) => json(r, { dist: { tarball: 'file:///etc/passwd' } }),
    refused: /archive is on another host/,
  },
  {
    name: 'redirects without end',
    at: 'document',
    answer: (q, r) => r.writeHead(302, LOOP(q.url!)).end(),
    refused: /redirected more than 3 times/,
  },
  { name: 'a dropped connection', at: 'archive', answer: (_, r) => void r.destroy(), refused: /cannot be reached/ },
  { name: 'silence', at: 'archive', answer: () => undefined, refused: /stopped responding/ },
  {
    name: 'a stalled body',
    at: 'archive',
    answer: (_, r) => void r.writeHead(200, { 'content-length': 1_000 }).write('some'),
    refused: /stopped responding/,
  },
  {
    name: 'a body too long by its header',
    at: 'archive',
    answer: (_, r) => void r.writeHead(200, { 'content-length': 10_000_000 }).write('some'),
    refused: /sent more than 1000000 bytes/,
  },
  {
    name: 'a body without end',
    at: 'archive',
    answer: (_, r) => {
      const chunk = Buffer.alloc(100_000);
      const pour = (): void => {
        if (r.destroyed) return;
        r.write(chunk, () => setImmediate(pour));
      };
      pour();
    },
    refused: /sent more than 1000000 bytes/,
  },
  {
    name: 'an occasional byte, indefinitely',
    at: 'archive',
    answer: (_, r) => {
      const drip = (): void => {
        if (r.destroyed) return;
        // fixed wait: simulates a slow sender
        r.write('x', () => void setTimeout(drip, 100));
      };
      drip();
    },
    refused: /longer than 3 seconds/,
  },
];

for (const { name, at, answer, refused } of BAD_ANSWERS) {
  test(`rejects a registry that responds with ${name}`, async (t) => {
    const { packed, npm, below } = await setUp(t);
    npm.answers.set(at === 'document' ? npm.documentPath : npm.archivePath, answer);
    const { registry, codeDirectory } = await openRegistry(t, below, {
      events: [entryOf(packed)],
      npmRegistry: npm.url,
      limits: { archive_bytes_max: 1_000_000, stall_secs: 1, pull_secs: 3 },
    });
    const failure = await failureOf(registry.resolve('Ping', NEVER));
    assert.match(failure, /^EVENT_UNAVAILABLE: The code of the event Ping is unavailable: /);
    assert.match(failure, refused);
    assert.ok(!failure.includes('127.0.0.1'), 'callers must not see addresses');
    assert.deepEqual(await readdir(codeDirectory), []);
  });
}

test('compressed transfers do not bypass the byte limit', async (t) => {
  const { packed, npm, below } = await setUp(t);
  npm.answers.set(npm.archivePath, (_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(20_000_000)));
  });
  const { registry } = await openRegistry(t, below, {
    events: [entryOf(packed)],
    npmRegistry: npm.url,
    limits: { archive_bytes_max: 1_000_000 },
  });
  assert.match(await failureOf(registry.resolve('Ping', NEVER)), /sent more than 1000000 bytes/);
});

test('after a failure the registry is not contacted for a period that doubles', async (t) => {
  const { packed, npm, below } = await setUp(t);
  let ahead = 0;
  npm.answers.set(npm.documentPath, (_, response) => response.writeHead(500).end());
  const { registry } = await openRegistry(t, below, {
    events: [entryOf(packed)],
    npmRegistry: npm.url,
    clock: clockAhead(() => ahead),
  });
  for (let ask = 0; ask < 5; ask += 1) await failureOf(registry.resolve('Ping', NEVER));
  assert.equal(npm.requests.length, 1);
  ahead += 1_100;
  await failureOf(registry.resolve('Ping', NEVER));
  assert.equal(npm.requests.length, 2);
  ahead += 1_100;
  const failure: unknown = await registry.resolve('Ping', NEVER).catch((error: unknown) => error);
  assert.equal(npm.requests.length, 2, 'the second wait is two seconds');
  assert.equal((failure as { retryAfterSecs: number }).retryAfterSecs, 1);
  ahead += 1_100;
  npm.answers.clear();
  using resolved = await registry.resolve('Ping', NEVER);
  assert.equal(resolved.name, 'Ping');
});

test('the digest may be pinned in addition to the integrity', async (t) => {
  const { packed, npm, below } = await setUp(t);
  const entry = { ...entryOf(packed), sha256: 'a'.repeat(64) };
  const { registry } = await openRegistry(t, below, { events: [entry], npmRegistry: npm.url });
  assert.equal(registry.peek('Ping')?.digest, 'a'.repeat(64));
  assert.match(await failureOf(registry.resolve('Ping', NEVER)), /does not match the pinned sha256/);
});

test("npm's integrity is the hash of the archive", async (t) => {
  const packed = await npmPack(t, { 'index.js': eventModule('Ping') });
  assert.equal(packed.integrity, integrityOf(packed.archive));
});
