import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import type { GitProtocol } from '../../../src/events/config/read-entries.ts';
import {
  directory,
  eventModule,
  failureOf,
  NEVER,
  openRegistry,
  runEvent,
  write,
} from '../../support/events/fixture.ts';
import { gitDaemon, gitHttp, GitRepository, markingProgram } from '../../support/events/sources/git-repository.ts';

const gitProtocols: readonly GitProtocol[] = ['file', 'git', 'http'];
const INDEX = { 'index.js': eventModule('Ping', '"pong"') };

function entryOf(url: string, commit: string, more: object = {}): Record<string, unknown> {
  return { name: 'Ping', type: 'git', url, commit, ...more };
}

test('a commit is fetched by its hash over each protocol, and runs', async (t) => {
  const repository = await GitRepository.make(t);
  const commit = repository.commit({ ...INDEX, 'lib/deep/x.js': 'export default 1;' });
  repository.commit({ 'index.js': 'throw new Error("a later commit")' });
  const digests = new Set<string>();
  for (const url of [repository.url, await gitDaemon(t, repository), await gitHttp(t, repository)]) {
    const { registry, pulled, codeDirectory } = await openRegistry(t, await directory(t), {
      events: [entryOf(url, commit)],
      gitProtocols,
    });
    using resolved = await registry.resolve('Ping', NEVER);
    assert.equal(await runEvent(resolved), 'pong', url);
    assert.deepEqual(pulled, ['git']);
    assert.deepEqual(await readdir(codeDirectory), [resolved.code.digest], 'nothing else is left');
    digests.add(resolved.code.digest);
  }
  assert.equal(digests.size, 1);
});

test('supports repositories with SHA-256 hashes', async (t) => {
  const repository = await GitRepository.make(t, 'sha256');
  const commit = repository.commit(INDEX);
  assert.equal(commit.length, 64);
  const { registry } = await openRegistry(t, await directory(t), {
    events: [entryOf(repository.url, commit)],
    gitProtocols,
  });
  using resolved = await registry.resolve('Ping', NEVER);
  assert.equal(await runEvent(resolved), 'pong');
});

test('a tag that points to the pinned commit is accepted; a moved one is rejected', async (t) => {
  const repository = await GitRepository.make(t);
  const commit = repository.commit(INDEX);
  repository.git(['tag', '-a', 'v1.0.0', commit, '-m', 'one']);
  const events = [entryOf(repository.url, commit, { ref: 'v1.0.0' })];
  const before = await openRegistry(t, await directory(t), { events, gitProtocols });
  (await before.registry.resolve('Ping', NEVER))[Symbol.dispose]();

  const evil = repository.commit({ 'index.js': eventModule('Ping', '"evil"') });
  repository.git(['tag', '-f', '-a', 'v1.0.0', evil, '-m', 'two']);
  const after = await openRegistry(t, await directory(t), { events, gitProtocols });
  assert.match(
    await failureOf(after.registry.resolve('Ping', NEVER)),
    /^EVENT_UNAVAILABLE.*"v1\.0\.0" no longer points to the pinned commit/,
  );
});

test('the hash of a tag and a missing hash are not commits', async (t) => {
  const repository = await GitRepository.make(t);
  const commit = repository.commit(INDEX);
  repository.git(['tag', '-a', 'v1', commit, '-m', 'one']);
  const tag = repository.git(['rev-parse', 'refs/tags/v1']);
  for (const [hash, refused] of [
    [tag, /the pinned hash is not a commit/],
    ['1'.repeat(40), /does not have the commit/],
    [repository.blob('x'), /does not have the commit/],
  ] as const) {
    const { registry } = await openRegistry(t, await directory(t), {
      events: [entryOf(repository.url, hash)],
      gitProtocols,
    });
    assert.match(await failureOf(registry.resolve('Ping', NEVER)), refused);
  }
});

test('hooks, filters, attributes, settings and submodules of a repository never run', async (t) => {
  const below = await directory(t);
  const mark = join(below, 'ran');
  const program = await markingProgram(below, mark);
  const repository = await GitRepository.make(t);
  const submodule = await GitRepository.make(t);
  const inner = submodule.commit({ 'inner.js': 'x' });
  const commit = repository.commit(
    {
      ...INDEX,
      '.gitattributes': '*.js filter=evil diff=evil text eol=crlf ident export-subst\n',
      '.gitconfig': `[filter "evil"]\n\tsmudge = ${program}\n`,
      '.gitmodules': `[submodule "sub"]\n\tpath = sub\n\turl = ${submodule.url}\n\tupdate = !${program}\n`,
      'id.js': '// $Id$ $Format:%H$\n',
      'hooks/post-checkout': '#!/bin/sh\nexit 1\n',
    },
    [`160000 commit ${inner}\tsub`],
  );
  for (const hook of ['post-checkout', 'post-update', 'pre-receive', 'reference-transaction', 'post-merge']) {
    await write(repository.path, { [`hooks/${hook}`]: `#!/bin/sh\ntouch '${mark}'\n` });
    repository.git(['config', 'core.hooksPath', 'hooks']);
  }
  for (const name of ['filter.evil.smudge', 'filter.evil.process', 'core.fsmonitor', 'uploadpack.packObjectsHook']) {
    repository.git(['config', name, program]);
  }
  const { registry } = await openRegistry(t, below, { events: [entryOf(repository.url, commit)], gitProtocols });
  using resolved = await registry.resolve('Ping', NEVER);
  assert.equal(existsSync(mark), false, 'a program of the repository was run');
  const files = await readdir(resolved.code.directory);
  assert.ok(!files.includes('sub') && !files.includes('.git'));
  assert.equal(await runEvent(resolved), 'pong');
});

test("git ignores programs and settings named in the executor's environment", async (t) => {
  const below = await directory(t);
  const mark = join(below, 'ran');
  const program = await markingProgram(below, mark);
  const repository = await GitRepository.make(t);
  const commit = repository.commit(INDEX);
  const names = ['GIT_SSH', 'GIT_EXTERNAL_DIFF', 'GIT_PROXY_COMMAND', 'GIT_ASKPASS', 'GIT_EXEC_PATH', 'GIT_DIR'];
  const settings = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.fsmonitor', GIT_CONFIG_VALUE_0: program };
  const changed = { ...Object.fromEntries(names.map((name) => [name, program])), ...settings };
  const earlier = { ...process.env };
  Object.assign(process.env, changed);
  try {
    const { registry } = await openRegistry(t, below, { events: [entryOf(repository.url, commit)], gitProtocols });
    (await registry.resolve('Ping', NEVER))[Symbol.dispose]();
  } finally {
    for (const name of Object.keys(changed)) {
      if (earlier[name] === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = earlier[name];
    }
  }
  assert.equal(existsSync(mark), false);
});

test('entries that no working tree could contain are rejected', async (t) => {
  const repository = await GitRepository.make(t);
  const blob = repository.blob('x');
  const inner = repository.git(['mktree'], `100644 blob ${blob}\tescaped.js\n`);
  const cases: readonly [string, RegExp][] = [
    [`120000 blob ${repository.blob('/etc/passwd')}\tlink`, /"link" is a symbolic link/],
    [`040000 tree ${inner}\t..`, /has the segment "\.\."/],
    [`040000 tree ${inner}\t.`, /has the segment "\."/],
    [`100644 blob ${blob}\ta\\b.js`, /backslash/],
    [`100644 blob ${blob}\tINDEX.js`, /the same name on some systems/],
    [`100644 blob ${blob}\t\u202ex.js`, /invisible or invalid/],
  ];
  for (const [line, refused] of cases) {
    const commit = repository.commit(INDEX, [line]);
    const { registry } = await openRegistry(t, await directory(t), {
      events: [entryOf(repository.url, commit)],
      gitProtocols,
    });
    assert.match(await failureOf(registry.resolve('Ping', NEVER)), refused, line);
  }
});

test('bombs: too many bytes in one file, in total or sent; folders that multiply', async (t) => {
  const repository = await GitRepository.make(t);
  const large = repository.commit({ ...INDEX, zeros: Buffer.alloc(3_000_000) });
  const noise = Buffer.alloc(1_000_000);
  for (let at = 0; at < noise.length; at += 4) noise.writeUInt32LE(Math.imul(at + 1, 2_654_435_761) >>> 0, at);
  const sent = repository.commit({ ...INDEX, noise });
  let tree = repository.git(['mktree'], `100644 blob ${repository.blob('x')}\tx\n`);
  for (let depth = 0; depth < 12; depth += 1) {
    const line = (name: string): string => `040000 tree ${tree}\t${name}\n`;
    tree = repository.git(['mktree'], 'abcdefghij'.split('').map(line).join(''));
  }
  const folders = repository.commit(INDEX, [`040000 tree ${tree}\td`]);
  const cases: readonly [string, RegExp][] = [
    [large, /is larger than 2000000 bytes/],
    [sent, /sent more than 500000 bytes/],
    [folders, /too many files/],
  ];
  for (const [commit, refused] of cases) {
    const { registry, codeDirectory } = await openRegistry(t, await directory(t), {
      events: [entryOf(repository.url, commit)],
      gitProtocols,
      limits: { file_bytes_max: 2_000_000, archive_bytes_max: 500_000, files_max: 1_000 },
    });
    assert.match(await failureOf(registry.resolve('Ping', NEVER)), refused);
    assert.deepEqual(await readdir(codeDirectory), []);
  }
});

test('a silent server is abandoned after the time limit of a pull, and no process is left', async (t) => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { registry } = await openRegistry(t, await directory(t), {
    events: [entryOf(`git://127.0.0.1:${port}/x.git`, '1'.repeat(40))],
    gitProtocols,
    limits: { pull_secs: 1 },
  });
  const closed = new Promise((resolve) =>
    server.once('connection', (socket) => socket.resume().once('close', resolve)),
  );
  assert.match(await failureOf(registry.resolve('Ping', NEVER)), /fetching it took longer than 1 seconds/);
  await closed;
});

test('a server cannot redirect git to another host', async (t) => {
  const repository = await GitRepository.make(t);
  const commit = repository.commit(INDEX);
  const asked: string[] = [];
  const other = await gitHttp(t, repository, (url) => {
    asked.push(url);
    return false;
  });
  const url = await gitHttp(t, repository, (path, answer) => {
    answer(301, { location: `${new URL(other).origin}${path}` });
    return true;
  });
  const { registry } = await openRegistry(t, await directory(t), { events: [entryOf(url, commit)], gitProtocols });
  assert.match(await failureOf(registry.resolve('Ping', NEVER)), /is unreachable/);
  assert.deepEqual(asked, []);
});

test('a token is sent to a private repository; without one the pull fails without a prompt', async (t) => {
  const repository = await GitRepository.make(t);
  const commit = repository.commit(INDEX);
  const wanted = `Basic ${Buffer.from('x-access-token:git_secret').toString('base64')}`;
  const url = await gitHttp(t, repository, (_path, answer, authorization) => {
    if (authorization === wanted) return false;
    answer(401, { 'www-authenticate': 'Basic realm="x"' });
    return true;
  });
  const below = await directory(t);
  await write(below, { token: 'git_secret' });
  const events = [entryOf(url, commit, { token_file: 'token' }), { ...entryOf(url, commit), name: 'Without' }];
  const { registry } = await openRegistry(t, below, { events, gitProtocols });
  (await registry.resolve('Ping', NEVER))[Symbol.dispose]();
  assert.match(await failureOf(registry.resolve('Without', NEVER)), /is unreachable/);
});

test('git runs with limited memory and a minimal environment', async (t) => {
  const below = await directory(t);
  const seen = join(below, 'seen');
  await write(below, { 'bin/git': `#!/bin/sh\n{ ulimit -v; env; } > '${seen}'\nexit 1\n` });
  await chmod(join(below, 'bin/git'), 0o755);
  const { registry } = await openRegistry(t, below, {
    events: [entryOf('file:///nowhere', '1'.repeat(40))],
    gitProtocols,
    searchPath: `${join(below, 'bin')}:/usr/bin:/bin`,
  });
  await failureOf(registry.resolve('Ping', NEVER));
  const [memory, ...environment] = (await readFile(seen, 'utf8')).trim().split('\n');
  assert.equal(memory, `${2 * 1024 * 1024}`);
  const names = environment.map((line) => line.split('=', 1)[0]!).sort();
  const own = ['HOME', 'LANG', 'PATH', 'PWD', 'OLDPWD', 'SHLVL', '_'];
  assert.deepEqual(
    names.filter((name) => !name.startsWith('GIT_') && !own.includes(name)),
    [],
  );
  assert.ok(environment.includes('GIT_ALLOW_PROTOCOL=file'));
});

test('a machine without git is reported', async (t) => {
  const { registry } = await openRegistry(t, await directory(t), {
    events: [entryOf('file:///nowhere', '1'.repeat(40))],
    gitProtocols,
    searchPath: '/nowhere',
  });
  assert.match(await failureOf(registry.resolve('Ping', NEVER)), /git could not be started on the executor/);
});
