import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { EnumCursor } from '../../src/graph/cursor.ts';
import type { SourceSpec } from '../../src/options.ts';
import { IdSet } from '../../src/source/git/id-set.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import { openSource } from '../../src/source/open-source.ts';
import { ObjectFault } from '../../src/source/port.ts';
import { conforms, listAll, readAll, readAndClose } from '../support/source/conformance.ts';
import { commit, git, newRepository, root } from '../support/source/repository.ts';
import { makeTree } from '../support/source/tree.ts';

type GitOptions = Omit<Extract<SourceSpec, { type: 'git' }>, 'type' | 'repository'>;

/** Without messages of commits and tags. */
async function list(repository: string, options: GitOptions = {}) {
  const { objects, ...rest } = await listWhole(repository, options);
  return { ...rest, objects: objects.filter(({ path }) => !isMessage(path)) };
}

function isMessage(path: string): boolean {
  return /^(commit|tag):[0-9a-f]{40,64}$/.test(path);
}

async function listWhole(repository: string, options: GitOptions = {}) {
  const source = await openSource({ type: 'git', repository, ...options });
  try {
    return await listAll(source);
  } finally {
    await source.close();
  }
}

/** Returns each object's path and the subject of its commit. */
async function named(repository: string, options?: GitOptions): Promise<string[]> {
  return (await list(repository, options)).objects.map((object) => `${object.path} ${object.commit!.subject}`);
}

/** Two branches, duplicate content, a removed file, a merge that changes what both had, and a tag. */
function storied(...options: string[]): string {
  const repository = newRepository(...options);
  commit(repository, 'first', { 'a.txt': 'one', 'same.txt': 'same', 'sub dir/\u00fc.txt': 'umlaut' });
  git(repository, 'branch', 'side');
  commit(repository, 'second', { 'a.txt': 'two', 'copy.txt': 'same' });
  git(repository, 'rm', '-q', 'same.txt');
  commit(repository, 'removed', {});
  git(repository, 'checkout', '-q', 'side');
  commit(repository, 'aside', { 'a.txt': 'three', 'b.txt': 'beside' });
  git(repository, 'checkout', '-q', 'main');
  git(repository, 'merge', '-q', '--no-commit', '-s', 'ours', 'side');
  commit(repository, 'merge', { 'a.txt': 'merged by hand', 'only-merge.txt': 'new in the merge' });
  git(repository, 'checkout', '-q', '--orphan', 'other');
  git(repository, 'rm', '-rqf', '.');
  commit(repository, 'orphan', { 'o.txt': 'one', 'p.txt': 'alone', empty: '' });
  git(repository, 'checkout', '-q', '--detach');
  commit(repository, 'detached', { 'd.txt': 'of no branch' });
  return repository;
}

describe('git source', () => {
  const repository = storied();
  const blobs = git(repository, 'cat-file', '--batch-check', '--batch-all-objects')
    .split('\n')
    .filter((line) => line.includes(' blob '))
    .map((line) => line.slice(0, 40));
  const commits = git(repository, 'rev-list', '--all', 'HEAD').split('\n').length;
  conforms({ name: 'git', open: () => openSource({ type: 'git', repository }), objects: blobs.length + commits });

  it('lists each commit before its blobs, and annotated tags, as written', async () => {
    const tagged = newRepository();
    const id = commit(tagged, 'subject\n\nthe body', { a: '1' });
    git(tagged, 'tag', '-a', 'v1', '-m', 'what the tag says');
    git(tagged, 'tag', 'plain');
    const tag = git(tagged, 'rev-parse', 'v1');
    const { objects } = await listWhole(tagged);
    assert.deepEqual(
      objects.map(({ path, commit: of }) => [path, of?.id]),
      [
        [`tag:${tag}`, undefined],
        [`commit:${id}`, id],
        ['a', id],
      ],
    );
    const opener = await openOpener({ type: 'git', repository: tagged });
    assert.match(await readAndClose(await opener.open(objects[0]!)), /\n\nwhat the tag says\n$/);
    assert.match(await readAndClose(await opener.open(objects[1]!)), /\n\nsubject\n\nthe body\n$/);
    await opener.close();
    assert.equal((await listWhole(tagged, { revisions: ['v1^{commit}'] })).objects.length, 2);
  });

  it('lists every blob of every branch once, with the oldest commit', async () => {
    const { objects, problems } = await list(repository);
    assert.deepEqual(objects.map(({ locator }) => locator).sort(), blobs.sort());
    assert.deepEqual(problems, []);
    const lines = objects.map((object) => `${object.path} ${object.commit!.subject}`);
    for (const line of [
      'a.txt first',
      'same.txt first',
      'sub dir/\u00fc.txt first',
      'a.txt second',
      'a.txt aside',
      'b.txt aside',
      'a.txt merge',
      'only-merge.txt merge',
      'p.txt orphan',
      'd.txt detached',
    ])
      assert.ok(lines.includes(line), line);
    const { commit: first } = objects.find(({ path }) => path === 'same.txt')!;
    assert.deepEqual(first, {
      id: git(repository, 'rev-list', '--max-parents=0', 'main'),
      author: 'Ada',
      email: 'ada@example.org',
      date: first!.date,
      subject: 'first',
    });
    assert.match(first.date, /^2023-11-14T22:\d\d:\d\d(Z|\+00:00)$/);
  });

  it('accepts revisions and times like git', async () => {
    assert.deepEqual(await named(repository, { revisions: ['main..side'] }), []);
    assert.deepEqual(await named(repository, { revisions: ['side', '^main~1'] }), ['a.txt aside', 'b.txt aside']);
    assert.deepEqual(await named(repository, { since: '2020-01-01', revisions: ['other'] }), [
      'empty orphan',
      'o.txt orphan',
      'p.txt orphan',
    ]);
    assert.deepEqual(await named(repository, { since: '2024-01-01' }), []);
    await assert.rejects(named(repository, { revisions: ['nonesuch'] }), /nonesuch/);
    await assert.rejects(named(repository, { revisions: ['--all'] }), /--all is an option/);
    await assert.rejects(named(repository, { revisions: [`--output=${join(root, 'written')}`] }), /is an option/);
    await assert.rejects(named(repository, { since: 'gibberish' }), /does not understand/);
    assert.ok(!existsSync(join(root, 'written')));
  });

  it('reads bare, SHA-256 and empty repositories', async () => {
    const bare = join(root, 'bare.git');
    git(root, 'clone', '-q', '--bare', repository, bare);
    assert.deepEqual(await named(bare), await named(repository));
    const wide = storied('--object-format=sha256');
    const { objects } = await list(wide);
    assert.deepEqual(
      objects.map(({ path }) => path),
      (await list(repository)).objects.map(({ path }) => path),
    );
    assert.equal(objects[0]!.locator.length, 64);
    const opener = await openOpener({ type: 'git', repository: wide });
    assert.equal(await readAndClose(await opener.open(objects[0]!)), 'one');
    await opener.close();
    assert.deepEqual(await named(newRepository()), []);
    assert.deepEqual(await named(join(repository, '.git')), await named(repository));
  });

  it('reports incomplete histories', async () => {
    const shallow = join(root, 'shallow');
    git(root, 'clone', '-q', '--depth', '1', `file://${repository}`, shallow, '-b', 'main');
    const { objects, problems } = await list(shallow);
    assert.deepEqual(
      objects.map(({ path }) => path),
      ['a.txt', 'copy.txt', 'only-merge.txt', 'sub dir/\u00fc.txt'],
    );
    assert.match(problems[0]!.message, /shallow/);
    const outer = newRepository();
    git(outer, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', repository, 'inner');
    commit(outer, 'with a submodule', { x: 'x' });
    const withSubmodule = await list(outer);
    assert.deepEqual(
      withSubmodule.objects.map(({ path }) => path),
      ['.gitmodules', 'x'],
    );
    assert.deepEqual(
      withSubmodule.problems.map(({ code, path }) => `${code} ${path}`),
      ['link_not_followed inner'],
    );
  });

  it('does not resume with different references', async () => {
    const moving = newRepository();
    commit(moving, 'first', { a: '1', b: '2' });
    const source = await openSource({ type: 'git', repository: moving });
    const { cursors } = await listAll(source, 1);
    commit(moving, 'second', { c: '3' });
    await assert.rejects(listAll(source, 1, cursors[0]), /start over/);
    await source.close();
  });

  it('runs no program that a repository names', async () => {
    const hostile = newRepository();
    commit(hostile, 'first', { a: '1', '.gitattributes': '* diff=evil filter=evil' });
    const mark = join(root, 'ran');
    const evil = join(root, 'evil.sh');
    writeFileSync(evil, `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    for (const key of [
      'core.fsmonitor',
      'core.sshCommand',
      'core.pager',
      'core.editor',
      'core.gitProxy',
      'pager.log',
      'diff.external',
      'diff.evil.command',
      'diff.evil.textconv',
      'filter.evil.smudge',
      'gpg.program',
      'log.showSignature',
      'alias.log',
      'alias.cat-file',
      'alias.rev-parse',
    ])
      git(hostile, 'config', key, key === 'log.showSignature' ? 'true' : key.startsWith('alias') ? `!${evil}` : evil);
    git(hostile, 'config', 'format.pretty', 'oneline');
    git(hostile, 'config', 'log.date', 'relative');
    git(hostile, 'config', 'color.ui', 'always');
    git(hostile, 'config', 'protocol.ext.allow', 'always');
    git(hostile, 'config', 'extensions.partialClone', 'origin');
    git(hostile, 'config', 'remote.origin.promisor', 'true');
    git(hostile, 'config', 'remote.origin.url', `ext::${evil}`);
    for (const hook of ['post-checkout', 'reference-transaction', 'fsmonitor-watchman'])
      writeFileSync(join(hostile, '.git/hooks', hook), `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    assert.deepEqual(await named(hostile), ['.gitattributes first', 'a first']);
    const opener = await openOpener({ type: 'git', repository: hostile });
    const { objects } = await list(hostile);
    assert.equal(await readAndClose(await opener.open(objects[1]!)), '1');
    await assert.rejects(async () => opener.open({ path: 'x', locator: '1'.repeat(40) }), ObjectFault);
    await opener.close();
    assert.ok(!existsSync(mark), 'a program from the configuration ran');
  });

  it('reads the named repository, even within a hook of another one', async () => {
    const variables = { GIT_DIR: '/nowhere', GIT_INDEX_FILE: '/nowhere', GIT_OBJECT_DIRECTORY: '/nowhere' };
    const expected = await named(repository);
    Object.assign(process.env, variables);
    try {
      assert.deepEqual(await named(repository), expected);
    } finally {
      for (const key of Object.keys(variables)) Reflect.deleteProperty(process.env, key);
    }
  });

  it('handles names and messages that look like other output', async () => {
    const odd = newRepository();
    const names = [':100644 100644', 'new\nline', '-n', 'a\tb', '"quoted"', ' '];
    commit(odd, ':000000 100644 subject\n\nbody\n:100644', Object.fromEntries(names.map((name) => [name, name])));
    const { objects } = await list(odd);
    assert.deepEqual(objects.map(({ path }) => path).sort(), names.sort());
    assert.equal(objects[0]!.commit!.subject, ':000000 100644 subject');
  });

  it('explains why git cannot read a repository', async () => {
    const plain = join(root, 'plain');
    mkdirSync(plain);
    await assert.rejects(named(plain), /is not a git repository; name one/);
    await assert.rejects(named(join(root, 'missing')), /cannot be read/);
    await assert.rejects(async () => openOpener({ type: 'git', repository: plain }), /is not a git repository/);
    const path = process.env['PATH'];
    process.env['PATH'] = plain;
    try {
      await assert.rejects(named(repository), /git was not found; install it/);
    } finally {
      process.env['PATH'] = path;
    }
    if (process.geteuid!() !== 0) return;
    const foreign = newRepository();
    commit(foreign, 'first', { a: '1' });
    execFileSync('chown', ['-R', '65534', foreign]);
    await assert.rejects(named(foreign), /git config --global --add safe\.directory/);
  });

  it('terminates git when it is closed early', async () => {
    const source = await openSource({ type: 'git', repository });
    const { objects } = await source.enumerate(EnumCursor.start(), 1);
    assert.equal(objects.length, 1);
    await source.close();
    await source.close();
    const children = execFileSync('ps', ['-o', 'comm=', '--ppid', String(process.pid)], { encoding: 'utf8' });
    assert.doesNotMatch(children, /git/);
  });
});

describe('staged changes', () => {
  const staged = async (repository: string, index_file?: string) => {
    const spec: SourceSpec = { type: 'staged', repository, ...(index_file === undefined ? {} : { index_file }) };
    const { objects, problems } = await listAll(await openSource(spec));
    const opener = await openOpener(spec);
    const contents: string[] = [];
    for (const object of objects) contents.push(`${object.path} ${await readAndClose(await opener.open(object))}`);
    await opener.close();
    return { contents, problems };
  };
  const repository = newRepository();

  it('are read from the index, whatever the working tree, even before the first commit', async () => {
    makeTree(repository, { a: 'staged', 'sub/b': 'as it is', 'new\nline': 'odd' });
    git(repository, 'add', '-A');
    makeTree(repository, { a: 'cleaned up', c: 'not staged' });
    const before = ['a staged', 'new\nline odd', 'sub/b as it is'];
    assert.deepEqual((await staged(repository)).contents, before);
    assert.deepEqual((await staged(join(repository, 'sub'))).contents, before);
    git(repository, 'commit', '-q', '-m', 'first');
    assert.deepEqual((await staged(repository)).contents, []);
    git(repository, 'add', 'a');
    git(repository, 'rm', '-q', '--cached', 'sub/b');
    assert.deepEqual((await staged(repository)).contents, ['a cleaned up']);
  });

  it('are read from another index, as in hooks of a partial commit', async () => {
    const index = join(root, 'other-index');
    execFileSync('git', ['-C', repository, 'read-tree', 'HEAD'], { env: { ...process.env, GIT_INDEX_FILE: index } });
    assert.deepEqual((await staged(repository, index)).contents, []);
  });

  conforms({ name: 'staged', open: () => openSource({ type: 'staged', repository }), objects: 1 });
});

describe('git blobs', () => {
  const repository = newRepository();
  const big = 'x'.repeat(9_000_000);
  commit(repository, 'first', { a: 'first', b: '', c: big, d: 'line\n'.repeat(1000), e: 'last' });
  const spec: SourceSpec = { type: 'git', repository };

  it('are read one after another, opened in any number, completely or in part', async () => {
    const { objects } = await list(repository);
    const opener = await openOpener(spec);
    const read = async (index: number, close = true): Promise<string> => {
      const reader = await opener.open(objects[index]!);
      const content = await readAll(reader, 1000);
      assert.equal(content.length, reader.size);
      if (close) await reader.close();
      return content.toString();
    };
    const all = await Promise.all(objects.map((_object, index) => read(index)));
    assert.deepEqual(all, ['first', '', big, 'line\n'.repeat(1000), 'last']);
    for (const index of [2, 3, 0]) {
      const reader = await opener.open(objects[index]!);
      assert.ok((await reader.read(Buffer.alloc(3), 0, 3, 0)) > 0);
      const next = read(4);
      await reader.close();
      assert.equal(await next, 'last', `after a part of ${index}`);
    }
    await opener.close();
    await opener.close();
  });

  it('are read in the order in which they were opened, more than git is asked for at once', async (t) => {
    const many = newRepository();
    const names = Array.from({ length: 100 }, (_, at) => `file-${String(at).padStart(2, '0')}`);
    commit(many, 'first', Object.fromEntries(names.map((name) => [name, `content of ${name}`])));
    const { objects } = await list(many);
    const opener = await openOpener({ type: 'git', repository: many });
    t.after(() => opener.close());
    const all = await Promise.all(objects.map(async (object) => readAndClose(await opener.open(object))));
    assert.deepEqual(
      all,
      names.map((name) => `content of ${name}`),
    );
  });

  it('that are missing or damaged are problems, and others are read nevertheless', async (t) => {
    const { objects } = await list(repository);
    const file = (id: string): string => join(repository, '.git/objects', id.slice(0, 2), id.slice(2));
    const damage = (id: string, content: Uint8Array): void => {
      rmSync(file(id));
      writeFileSync(file(id), content);
    };
    rmSync(file(objects[0]!.locator));
    damage(objects[2]!.locator, readFileSync(file(objects[2]!.locator)).subarray(0, 4000));
    damage(objects[3]!.locator, Buffer.from('damaged'));
    const opener = await openOpener(spec);
    t.after(() => opener.close());
    const faultOf = async (index: number): Promise<string> => {
      try {
        await readAndClose(await opener.open(objects[index]!));
      } catch (error) {
        assert.ok(error instanceof ObjectFault, String(error));
        return `${error.problem.code} ${error.problem.extent} ${error.problem.message}`;
      }
      return 'none';
    };
    assert.match(await faultOf(0), /^unreadable skipped the object \w+ is missing or damaged/);
    assert.match(await faultOf(2), /^unreadable partial git cannot read/);
    assert.match(await faultOf(3), /^unreadable skipped the object \w+ is missing or damaged/);
    assert.equal(await readAndClose(await opener.open(objects[4]!)), 'last');
  });
});

describe('a set of ids', () => {
  it('contains each id once, however many', () => {
    const set = new IdSet(20);
    const hex = (index: number): Buffer => Buffer.from(index.toString(16).padStart(8, '0').padEnd(40, '7'));
    for (let index = 0; index < 50_000; index += 1) assert.ok(set.addHex(hex(index), 0));
    for (let index = 0; index < 50_000; index += 1) assert.ok(!set.addHex(hex(index), 0));
    assert.equal(set.size, 50_000);
    assert.ok(!set.addHex(Buffer.from('0'.repeat(40)), 0), 'no object has the id of zeros');
  });
});
