import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import type { SourceSpec } from '../../src/options.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import { openSource } from '../../src/source/open-source.ts';
import { ObjectFault, type ObjectReader } from '../../src/source/port.ts';
import { conforms, listAll, readAll } from '../support/source/conformance.ts';
import { makeTree, temporaryDirectory } from '../support/source/tree.ts';

const root = temporaryDirectory();

async function openFile(locator: string, spec: SourceSpec = { type: 'path', path: root }): Promise<ObjectReader> {
  return await (await openOpener(spec)).open({ path: locator, locator });
}

async function faultOf(locator: string, spec?: SourceSpec): Promise<string> {
  try {
    await (await openFile(locator, spec)).close();
  } catch (error) {
    assert.ok(error instanceof ObjectFault, String(error));
    return `${error.problem.code} ${error.problem.extent}`;
  }
  return 'none';
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(root, name);
  writeFileSync(path, content);
  return path;
}

describe('files', () => {
  makeTree(join(root, 'list'), { a: '1', b: '22', c: '', 'd/e': '4' });
  const listed = ['a', 'missing', 'd', 'c', 'd/e', 'b', 'a'].map((name) => join(root, 'list', name));
  const list: SourceSpec = { type: 'list', name: 'files', paths: listed };
  conforms({ name: 'list', open: () => openSource(list), objects: 5 });
  conforms({ name: 'file', open: () => openSource({ type: 'path', path: listed[0]! }), objects: 1 });

  it('of a list are in its order; missing files and directories are problems', async () => {
    const { objects, problems } = await listAll(await openSource(list));
    assert.deepEqual(
      objects.map(({ path, size_hint }) => [path.slice(root.length), size_hint]),
      [
        ['/list/a', 1],
        ['/list/c', -1],
        ['/list/d/e', 1],
        ['/list/b', 2],
        ['/list/a', 1],
      ],
    );
    assert.deepEqual(
      problems.map(({ code, path }) => `${code} ${path.slice(root.length)}`),
      ['vanished /list/missing', 'special_file /list/d'],
    );
  });

  it('of a list may have names that are not UTF-8', async () => {
    const bytes = Buffer.from(`${root}/n\xe4me`, 'latin1');
    writeFileSync(bytes, 'content');
    const spec: SourceSpec = { type: 'list', name: 'files', paths: [bytes.toString('latin1')], encoding: 'latin1' };
    const { objects } = await listAll(await openSource(spec));
    assert.equal((await readAll(await openFile(objects[0]!.locator, spec))).toString(), 'content');
  });

  it('are read completely with every read length', async () => {
    const content = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251));
    const path = file('whole', content);
    for (const length of [7, 4096, 10_000, 20_000]) {
      const reader = await openFile(path);
      assert.equal(reader.size, 10_000);
      assert.deepEqual(await readAll(reader, length), content);
      assert.equal(await reader.close(), undefined);
    }
    const reader = await openFile(path);
    const target = Buffer.alloc(4);
    assert.equal(await reader.read(target, 0, 4, 9_998), 2, 'any offset, up to the end');
    assert.equal(await reader.read(target, 0, 4, 20_000), 0);
    await reader.close();
  });

  it('without a size are read to the end', async () => {
    const reader = await openFile('/proc/self/status');
    assert.equal(reader.size, -1);
    assert.match((await readAll(reader)).toString(), /VmRSS/);
    assert.equal(await reader.close(), undefined);
    const empty = await openFile(file('empty', ''));
    assert.equal((await readAll(empty)).length, 0);
    assert.equal(await empty.close(), undefined);
  });

  it('with too large a stated size are no problem if unchanged', async () => {
    const reader = await openFile('/sys/kernel/mm/transparent_hugepage/enabled');
    assert.equal(reader.size, 4096);
    assert.ok((await readAll(reader)).length < 100);
    assert.equal(await reader.close(), undefined);
  });

  it('that change during reading are reported', async () => {
    const changes: [string, (path: string) => void, number, RegExp][] = [
      ['grows', (path) => appendFileSync(path, 'more'), 1000, /grew from 1000 to 1004 bytes/],
      ['shrinks', (path) => truncateSync(path, 500), 500, /shrank from 1000 to 500 bytes.*only 500/],
      ['rewritten', (path) => utimesSync(path, 1, 1), 1000, /written to/],
    ];
    for (const [name, change, bytes, message] of changes) {
      const path = file(name, 'x'.repeat(1000));
      const reader = await openFile(path);
      assert.equal(await reader.read(Buffer.alloc(100), 0, 100, 0), 100);
      change(path);
      assert.equal((await readAll(reader)).length, bytes, name);
      const problem = await reader.close();
      assert.deepEqual([problem?.code, problem?.extent], ['changed_while_read', 'partial']);
      assert.match(problem!.message, message);
    }
    const replaced = await openFile(file('replaced', 'old'));
    renameSync(file('newer', 'new'), join(root, 'replaced'));
    assert.equal((await readAll(replaced)).toString(), 'old');
    assert.equal(await replaced.close(), undefined, 'reads the opened version');
  });

  it('with holes are read as zeros', async () => {
    const path = file('sparse', 'begin');
    truncateSync(path, 50_000_000);
    appendFileSync(path, 'end');
    const content = await readAll(await openFile(path), 1024 * 1024);
    assert.equal(content.length, 50_000_003);
    assert.equal(content.subarray(-3).toString(), 'end');
  });

  it('that vanished or changed their type are problems and never block', async () => {
    const path = file('then', 'x');
    const became = async (make: () => void): Promise<string> => {
      rmSync(path, { recursive: true, force: true });
      make();
      return await faultOf(path);
    };
    assert.equal(await became(() => undefined), 'vanished skipped');
    assert.equal(await became(() => execFileSync('mkfifo', [path])), 'special_file skipped');
    assert.equal(await became(() => mkdirSync(path)), 'special_file skipped');
    assert.equal(await became(() => symlinkSync('whole', path)), 'link_not_followed skipped');
    assert.equal(await faultOf(path, { type: 'path', path: root, follow_links: true }), 'none');
    assert.equal(await faultOf(path, { type: 'path', path }), 'none', 'a link that was named');
    assert.equal(await faultOf('/dev/zero', { type: 'path', path: '/dev/zero' }), 'special_file skipped');
    assert.equal(await faultOf('/dev/kmsg'), 'special_file skipped');
  });

  it('that are not readable are problems', async () => {
    const path = file('private', 'x');
    chmodSync(path, 0);
    if (process.geteuid!() === 0) process.seteuid!(65_534);
    try {
      assert.match(await faultOf(path), /^unreadable skipped$/);
    } finally {
      process.seteuid!(process.getuid!());
    }
  });

  it('below a path that is too long for the system are read', async () => {
    const name = 'd'.repeat(200);
    const script = `cd '${root}' && mkdir deep && cd deep && for i in $(seq 50); do mkdir ${name} && cd ${name} || exit 1; done; printf deep > end.txt`;
    execFileSync('bash', ['-c', script]);
    const reader = await openFile(`${root}/deep/${`${name}/`.repeat(50)}end.txt`);
    assert.equal((await readAll(reader)).toString(), 'deep');
    assert.equal(await reader.close(), undefined);
    execFileSync('rm', ['-rf', join(root, 'deep')]);
  });

  it('that are pipes are read if named', async () => {
    const path = join(root, 'named-pipe');
    execFileSync('mkfifo', [path]);
    const reader = await openFile(path, { type: 'path', path });
    const whole = readAll(reader);
    spawn('bash', ['-c', `echo first > '${path}'`]);
    assert.equal((await whole).toString(), 'first\n');
    await reader.close();
  });
});
