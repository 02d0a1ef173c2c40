import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import type { EventEntry } from '../../../src/events/config/event-entry.ts';
import { readEntries } from '../../../src/events/config/read-entries.ts';
import { directory, failureOf, write } from '../../support/events/fixture.ts';

const SHA512 = `sha512-${Buffer.alloc(64, 1).toString('base64')}`;
const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const NPM = { name: 'E', type: 'npm', package: 'p', version: '1.0.0', integrity: SHA512 };
const GIT = { name: 'E', type: 'git', url: 'https://example.com/x.git', commit: COMMIT };
const LOCAL = { name: 'E', type: 'local', path: 'e' };

async function read(t: TestContext, text: string, file = 'events.json'): Promise<EventEntry[]> {
  const below = await directory(t);
  await write(below, { [file]: text });
  return readEntries(join(below, file), { gitProtocols: ['https'] });
}

test('reads the same list as JSON, as an object, as TOML, as YAML and inline', async (t) => {
  const list = [{ ...LOCAL, path: '/srv/e', sha256: 'a'.repeat(64), tier: 'jail', timeout_secs: 5, memory_mb: 64 }];
  const toml = Object.entries(list[0]!).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  const yaml = Object.entries(list[0]!).map(([key, value]) => `    ${key}: ${value}`);
  const [first, ...others] = await Promise.all([
    read(t, JSON.stringify(list)),
    read(t, JSON.stringify({ events: list })),
    read(t, `[[events]]\n${toml.join('\n')}\n`, 'events.toml'),
    read(t, `# ours\nevents:\n  -\n${yaml.join('\n')}\n`, 'events.yaml'),
    readEntries(JSON.stringify(list), { gitProtocols: ['https'] }),
    readEntries(`\n ${JSON.stringify({ events: list })}`, { gitProtocols: ['https'] }),
  ]);
  const plain = (entries: readonly EventEntry[]): object[] => entries.map((entry) => ({ ...entry, place: '' }));
  for (const other of others) assert.deepEqual(plain(other), plain(first));
  assert.deepEqual(plain(first), [
    {
      name: 'E',
      origin: { type: 'local', path: '/srv/e' },
      entry: null,
      sha256: 'a'.repeat(64),
      signature: null,
      ephemeral: false,
      tier: 'jail',
      timeout_secs: 5,
      memory_mb: 64,
      place: '',
    },
  ]);
});

test('packages and repositories are ephemeral unless the list says otherwise', async (t) => {
  const entries = await read(t, JSON.stringify([NPM, { ...GIT, name: 'F', ephemeral: false }]));
  assert.deepEqual(
    entries.map(({ ephemeral }) => ephemeral),
    [true, false],
  );
});

test('the list can allow further schemes of git URLs', async (t) => {
  const url = 'file:///srv/x.git';
  const [entry] = await read(t, JSON.stringify({ git_protocols: ['https', 'file'], events: [{ ...GIT, url }] }));
  assert.deepEqual(entry?.origin, { type: 'git', url, commit: COMMIT, ref: null, tokenFile: null });
});

/** Invalid entries with their expected faults. */
const REFUSED: readonly [object, RegExp][] = [
  [{ ...LOCAL, name: '' }, /events\[0\]\.name: must have 1 to 200/],
  [{ ...LOCAL, name: 'a b' }, /name: must have 1 to 200 characters of A-Z/],
  [{ ...LOCAL, name: 'Еvent' }, /name: must have 1 to 200 characters of A-Z/],
  [{ ...LOCAL, name: 'x'.repeat(201) }, /name: must have 1 to 200/],
  [{ type: 'local', path: 'e' }, /name: is required/],
  [{ name: 'E' }, /type: is required: "local", "npm" or "git"/],
  [{ name: 'E', type: 'github', url: 'x' }, /type: "github" is not supported: use git with the URL/],
  [{ name: 'E', type: 'pypi' }, /type: "pypi" is not supported: events are JavaScript/],
  [{ name: 'E', type: 'constructor' }, /type: must be "local", "npm" or "git"/],
  [{ name: 'E', type: 'local' }, /path: is required/],
  [{ ...LOCAL, path: 'a\0b' }, /path: /],
  [{ ...LOCAL, url: 'x' }, /url: is not a known member/],
  [{ ...LOCAL, ephemeral: true }, /ephemeral: must not be true for a local event/],
  [{ ...LOCAL, entry: '../x.js' }, /entry: has the segment "\.\."/],
  [{ ...LOCAL, entry: '/x.js' }, /entry: is absolute/],
  [{ ...LOCAL, sha256: 'A'.repeat(64) }, /sha256: must be 64 hexadecimal/],
  [{ ...LOCAL, tier: 'none' }, /tier: must be "pooled"/],
  [{ ...LOCAL, timeout_secs: 0 }, /timeout_secs: must be between 1 and 86400/],
  [{ ...LOCAL, memory_mb: 1 }, /memory_mb: must be between 16/],
  [{ ...NPM, integrity: undefined }, /integrity: is required/],
  [{ ...NPM, integrity: `sha1-${Buffer.alloc(20).toString('base64')}` }, /integrity: must be a single hash/],
  [{ ...NPM, integrity: `${SHA512} ${SHA512}` }, /integrity: must be a single hash/],
  [{ ...NPM, integrity: SHA512.slice(0, -8) }, /integrity: must be a single hash/],
  [{ ...NPM, integrity: `sha512-${Buffer.alloc(32).toString('base64')}` }, /integrity: must be a single hash/],
  [{ ...NPM, version: '^1.0.0' }, /version: "\^1\.0\.0" is not an exact version/],
  [{ ...NPM, version: 'latest' }, /not an exact version/],
  [{ ...NPM, version: '1.0.0/../../x' }, /not an exact version/],
  [{ ...NPM, package: '../x' }, /package: "\.\.\/x" is not a package name/],
  [{ ...NPM, package: '@a/b/c' }, /is not a package name/],
  [{ ...NPM, package: 'p?x=1' }, /is not a package name/],
  [{ ...NPM, registry: 'file:///etc' }, /registry: must be an https URL/],
  [{ ...NPM, registry: 'https://user:secret@host/' }, /registry: must not contain a user or password/],
  [{ ...GIT, commit: COMMIT.slice(0, 12) }, /commit: must be a full commit hash/],
  [{ ...GIT, commit: COMMIT.toUpperCase() }, /commit: must be a full commit hash/],
  [{ ...GIT, commit: 'main' }, /commit: must be a full commit hash/],
  [{ ...GIT, commit: `${COMMIT}^{/x}` }, /commit: must be a full commit hash/],
  [{ name: 'E', type: 'git', url: GIT.url }, /commit: is required/],
  ...[
    '--upload-pack=touch /tmp/x',
    '-u/tmp/x',
    'ext::sh -c "touch /tmp/x"',
    'fd::17/foo',
    'host:path',
    '/srv/repository',
    '../repository',
    'file:///srv/repository',
    'http://example.com/x.git',
    'git://example.com/x.git',
    'ssh://-oProxyCommand=touch/x',
    'https://-u/x',
    'https://user:secret@example.com/x.git',
    'https://example.com/x.git#main',
    'https://example.com/x.git\n-u',
    'https://exa mple.com/x.git',
    'HTTPS://example.com/x.git',
    'https:example.com/x.git',
    'https:\\\\example.com',
  ].map((url) => [{ ...GIT, url }, /events\[0\]\.url: (must be a URL|must not|has)/] as [object, RegExp]),
  ...['-x', '--upload-pack=x', 'a..b', 'a:b', '+a', 'a b', 'a^{}', 'x.lock', 'x/', '@{u}', 'refs/*'].map(
    (ref) => [{ ...GIT, ref }, /events\[0\]\.ref: .* is not a tag or branch name/] as [object, RegExp],
  ),
  [{ ...LOCAL, signature: 'x' }, /signed_by: is required/],
  [
    { ...LOCAL, signed_by: 'x', signature: Buffer.alloc(64).toString('base64') },
    /signed_by: must name one of the signers/,
  ],
];

for (const [entry, refused] of REFUSED) {
  test(`rejects ${JSON.stringify(entry).slice(0, 100)}`, async (t) => {
    assert.match(await failureOf(read(t, JSON.stringify([entry]))), refused);
  });
}

/** Invalid documents with their expected faults. */
const DOCUMENTS: readonly [string, string, RegExp][] = [
  ['an empty file', '', /is empty/],
  ['no list', '{"events":{}}', /events: must be a list/],
  ['no events', '{"event":[]}', /event: is not a known member.*did you mean "events"/],
  ['a repeated member', '[{"name":"a","name":"b"}]', /given more than once/],
  ['a dangerous member', '[{"__proto__":{"name":"a"}}]', /__proto__/],
  ['no object', '["x"]', /events\[0\]: must be an object/],
  ['an invalid signer', '{"events":[],"signers":{"a":"x"}}', /signers\.a: must be an Ed25519 public key/],
  [
    'unsigned entries',
    `{"events":[${JSON.stringify(LOCAL)}],"require_signatures":true}`,
    /events\[0\]: must be signed/,
  ],
];

for (const [name, text, refused] of DOCUMENTS) {
  test(`rejects ${name}`, async (t) => assert.match(await failureOf(read(t, text)), refused));
}

test('rejects a list that is missing, not TOML or too large', async (t) => {
  const below = await directory(t);
  assert.match(await failureOf(readEntries(join(below, 'none.json'), { gitProtocols: [] })), /cannot be read/);
  assert.match(await failureOf(read(t, '[[events', 'events.toml')), /The event list .* is invalid/);
  assert.match(await failureOf(read(t, ' '.repeat(5_000_000))), /has more than 4194304 bytes/);
});
