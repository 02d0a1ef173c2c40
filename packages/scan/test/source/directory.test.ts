import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { type CursorState, EnumCursor } from '../../src/graph/cursor.ts';
import type { SourceSpec } from '../../src/options.ts';
import { openSource, type SourceEnvironment } from '../../src/source/open-source.ts';
import { conforms, listAll } from '../support/source/conformance.ts';
import { makeTree, temporaryDirectory, type Tree } from '../support/source/tree.ts';

const root = temporaryDirectory();
let trees = 0;

function newTree(tree: Tree): string {
  trees += 1;
  return makeTree(join(root, String(trees)), tree);
}

type PathOptions = Omit<Extract<SourceSpec, { type: 'path' }>, 'type' | 'path'>;

async function list(path: string, options: PathOptions = {}, environment: SourceEnvironment = {}) {
  const listing = await listAll(await openSource({ type: 'path', path, ...options }, environment));
  const below = (full: string): string => full.slice(path.length + 1);
  return {
    paths: listing.objects.map((object) => below(object.path)),
    problems: listing.problems.map((problem) => `${problem.code} ${below(problem.path)}`),
  };
}

const SAMPLE: Tree = {
  'b/one.txt': '1',
  'b/two.txt': '2',
  'b/deep/er/three.txt': '3',
  'b/deep/er/empty': null,
  'b-side.txt': '4',
  'B.txt': '5',
  'a.txt': '6',
  'é/ü.txt': '7',
  zero: null,
  link: '-> a.txt',
};

describe('directory source', () => {
  const sample = newTree(SAMPLE);
  conforms({ name: 'directory', open: () => openSource({ type: 'path', path: sample }), objects: 7 });
  const linked = newTree({
    'tree/a': 'a',
    'tree/b/c': 'c',
    'tree/up': '-> ..',
    'tree/z': 'z',
    'beside/d': 'd',
    'beside/e/f': 'f',
  });
  conforms({
    name: 'directory with links',
    open: () => openSource({ type: 'path', path: join(linked, 'tree'), follow_links: true }),
    objects: 5,
  });

  it('lists depth first, names by their bytes', async () => {
    const { paths, problems } = await list(sample);
    assert.deepEqual(paths, [
      'B.txt',
      'a.txt',
      'b/deep/er/three.txt',
      'b/one.txt',
      'b/two.txt',
      'b-side.txt',
      'é/ü.txt',
    ]);
    assert.deepEqual(problems, ['link_not_followed link']);
  });

  it('names objects as the user named the root', async () => {
    const { objects } = await listAll(await openSource({ type: 'path', path: `${sample}/./b/../b//` }));
    assert.equal(objects[0]?.path, `${sample}/b/deep/er/three.txt`);
    const here = await listAll(
      await openSource({ type: 'path', path: '.' }, { prune: (path) => !/^packages(?:\/scan(?:\/|$)|$)/.test(path) }),
    );
    assert.ok(here.objects.some(({ path }) => path === 'package.json'));
    assert.ok(here.objects.some(({ path }) => path === 'packages/scan/src/source/port.ts'));
    assert.ok(!here.objects.some(({ path }) => path.startsWith('test/')));
  });

  it('supports names that are not UTF-8', async () => {
    const tree = newTree({ 'a.txt': 'a' });
    const name = Buffer.from([0x6e, 0xe4, 0x6d, 0x65]);
    const directory = Buffer.concat([Buffer.from(`${tree}/`), name]);
    mkdirSync(directory);
    writeFileSync(Buffer.concat([directory, Buffer.from('/'), name]), 'content');
    const { objects } = await listAll(await openSource({ type: 'path', path: tree }));
    assert.equal(objects[1]!.path, `${tree}/n\ufffdme/n\ufffdme`);
    assert.equal(objects[1]!.locator, `${tree}/n\xe4me/n\xe4me`);
  });

  it('resumes after names that vanished, appeared or changed their type', async () => {
    const tree = newTree({ 'a/1': '', 'a/2': '', 'a/3': '', 'b/1': '', c: '' });
    const open = () => openSource({ type: 'path', path: tree });
    const after = (...names: string[]): CursorState => ({ type: 'fs_directory', after: names });
    const rest = async (state: CursorState): Promise<string[]> =>
      (await listAll(await open(), 2, state)).objects.map(({ path }) => path.slice(tree.length + 1));
    assert.deepEqual(await rest(after('a', '1', 'x')), ['a/2', 'a/3', 'b/1', 'c'], 'a file where a directory was');
    assert.deepEqual(await rest(after('a', '11')), ['a/2', 'a/3', 'b/1', 'c'], 'a name that is gone');
    assert.deepEqual(await rest(after('a')), ['b/1', 'c'], 'a directory that is done');
    assert.deepEqual(await rest(after('aa', 'x', 'y')), ['b/1', 'c'], 'a directory that is gone');
    rmSync(join(tree, 'a'), { recursive: true });
    writeFileSync(join(tree, 'b/0'), '');
    assert.deepEqual(await rest(after('a', '2')), ['b/0', 'b/1', 'c']);
    assert.deepEqual(await rest(after('b', '0')), ['b/1', 'c']);
    await assert.rejects(
      async () => (await open()).enumerate(EnumCursor.continue({ type: 'offset', offset: 1 }), 1),
      /another source/,
    );
  });

  it('returns early if there is much to walk and nothing to find', async () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `d${index}/e/f`);
    const tree = newTree({ ...Object.fromEntries(names.map((name) => [name, null])), z: '' });
    const whole = await listAll(await openSource({ type: 'path', path: tree }));
    assert.ok(whole.cursors.length > 2, `${whole.cursors.length} batches`);
    for (const state of whole.cursors.slice(0, -1)) {
      const rest = await listAll(await openSource({ type: 'path', path: tree }), 1, state);
      assert.deepEqual(rest.objects, whole.objects);
    }
  });

  it('lists a directory once that is mounted below itself', async (t) => {
    const tree = newTree({ 'a/b/c': '', 'a/inner': null });
    const mounted = spawnSync('mount', ['--rbind', join(tree, 'a'), join(tree, 'a/inner')]);
    if (mounted.status !== 0) {
      t.skip(`nothing can be mounted here: ${String(mounted.stderr).trim()}`);
      return;
    }
    t.after(() => execFileSync('umount', [join(tree, 'a/inner')]));
    assert.deepEqual(await list(tree), { paths: ['a/b/c'], problems: ['link_not_followed a/inner'] });
  });

  it('does not walk pruned directories', async () => {
    const asked: string[] = [];
    const prune = (path: string): boolean => asked.push(path) > 0 && path.endsWith('/deep');
    const { paths } = await list(sample, {}, { prune });
    assert.ok(!paths.some((path) => path.includes('deep')));
    assert.ok(asked.includes(`${sample}/b/deep`) && !asked.includes(`${sample}/b/deep/er`));
  });

  it('skips the object stores of git, wherever they are', async () => {
    const git = { HEAD: 'ref', config: 'c', 'objects/00/11': 'x', 'refs/heads/main': 'y' };
    const below = (prefix: string): Tree =>
      Object.fromEntries(Object.entries(git).map(([key, value]) => [`${prefix}/${key}`, value]));
    const tree = newTree({ ...below('.git'), ...below('.git/modules/sub'), ...below('bare'), 'objects/kept': 'z' });
    const { paths } = await list(tree);
    assert.deepEqual(
      paths.filter((path) => path.includes('objects')),
      ['objects/kept'],
    );
    assert.ok(paths.includes('.git/config'));
    const all = await list(tree, { git_objects: true });
    assert.equal(all.paths.filter((path) => path.includes('objects/')).length, 4);
  });

  it('skips data directories of Heddle unless named', async () => {
    const data = { secret: 's', 'cluster/PG_VERSION': '18' };
    const below = (prefix: string): Tree =>
      Object.fromEntries(Object.entries(data).map(([key, value]) => [`${prefix}/${key}`, value]));
    const moved = { 'moved/secret': 's', 'moved/location': '/srv/pg' };
    const executor = { 'x/audit/a': 'a', 'x/journal/j': 'j', 'x/requests/r': 'r' };
    const tree = newTree({ ...below('.heddle'), ...moved, ...executor, 'kept/secret': 's', 'kept/notes/cluster': 'c' });
    assert.deepEqual((await list(tree)).paths, ['kept/notes/cluster', 'kept/secret']);
    assert.deepEqual((await list(join(tree, '.heddle'))).paths, ['cluster/PG_VERSION', 'secret']);
  });

  it('reports special files and unreadable directories, and continues', async (t) => {
    const tree = newTree({ 'a/secret': 's', 'z.txt': 'z' });
    execFileSync('mkfifo', [join(tree, 'fifo')]);
    const server = createServer().listen(join(tree, 'socket'));
    t.after(() => server.close());
    chmodSync(join(tree, 'a'), 0);
    const { paths, problems } = await asNobody(tree, () => list(tree));
    chmodSync(join(tree, 'a'), 0o700);
    assert.deepEqual(paths, ['z.txt']);
    assert.deepEqual(problems, ['unreadable a', 'special_file fifo', 'special_file socket']);
  });

  it('follows links out of the tree once, and never in cycles', async () => {
    const base = newTree({
      'tree/a/self': '-> ..',
      'tree/a/file': 'f',
      'tree/again': '-> a/file',
      'tree/first': '-> ../out/inner',
      'tree/second': '-> ../out',
      'tree/third': '-> ../out/inner/x',
      'tree/up': '-> ../..',
      'tree/nowhere': '-> missing',
      'tree/loop': '-> loop',
      'tree/tty': '-> /dev/null',
      'out/inner/x': 'x',
      'out/y': 'y',
      'out/back': '-> ../tree',
    });
    const tree = join(base, 'tree');
    const prune = (path: string): boolean => path === `${tree}/up`;
    const { paths, problems } = await list(tree, { follow_links: true }, { prune });
    assert.deepEqual(paths, ['a/file', 'first/x', 'second/y']);
    assert.deepEqual(problems, ['link_not_followed loop', 'link_not_followed nowhere', 'special_file tty']);
    const all = await list(tree, { follow_links: true });
    assert.equal(all.paths.filter((path) => path.endsWith('/inner/x') || path.endsWith('/y')).length, 1);
  });

  it('descends below the longest path that the system opens', async () => {
    const tree = newTree({});
    const name = 'd'.repeat(200);
    execFileSync('bash', [
      '-c',
      `cd '${tree}' && for i in $(seq 50); do mkdir ${name} && cd ${name} || exit 1; done; echo deep > end.txt`,
    ]);
    const listing = await listAll(await openSource({ type: 'path', path: tree }), 1);
    execFileSync('rm', ['-rf', tree]);
    assert.equal(listing.objects.length, 1);
    assert.equal(listing.objects[0]!.locator.length, tree.length + 50 * 201 + '/end.txt'.length);
    assert.deepEqual(listing.problems, []);
  });

  it('ends if the root does not exist', async () => {
    await assert.rejects(async () => openSource({ type: 'path', path: join(root, 'missing') }), /does not exist/);
    const gone = newTree({ a: '' });
    const source = await openSource({ type: 'path', path: gone });
    rmSync(gone, { recursive: true });
    await assert.rejects(listAll(source), /cannot be listed/);
  });

  it('finds every file of any tree once, in order, from any cursor', async () => {
    const segment = fc.constantFrom('a', 'b', 'A', 'a-', 'a.b', '.x', 'é', ' ');
    const trees = fc.array(fc.array(segment, { minLength: 1, maxLength: 4 }), { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(trees, fc.integer({ min: 1, max: 4 }), async (paths, limit) => {
        const names = paths.map((path) => `${path.join('/')}.f`);
        const tree = newTree(Object.fromEntries(names.map((name) => [name, ''])));
        const whole = await listAll(await openSource({ type: 'path', path: tree }), limit);
        const found = whole.objects.map(({ path }) => path.slice(tree.length + 1));
        const bytes = (path: string): string =>
          path
            .split('/')
            .map((part) => Buffer.from(part).toString('hex'))
            .join('/');
        const key = (path: string): string => bytes(path).replaceAll('/', ' ');
        assert.deepEqual(
          found,
          [...new Set(names)].sort((left, right) => (key(left) < key(right) ? -1 : 1)),
        );
        for (const [index, state] of whole.cursors.entries()) {
          const rest = await listAll(await openSource({ type: 'path', path: tree }), 3, state);
          assert.deepEqual(rest.objects, whole.objects.slice(whole.counts[index]));
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** Runs `run` without superuser rights, which would make everything readable. */
async function asNobody<T>(path: string, run: () => Promise<T>): Promise<T> {
  if (process.geteuid!() !== 0) return await run();
  const nobody = 65_534;
  chownSync(path, nobody, nobody);
  chmodSync(root, 0o755);
  process.seteuid!(nobody);
  try {
    return await run();
  } finally {
    process.seteuid!(0);
  }
}
