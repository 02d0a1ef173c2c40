/** What no branch or tag of a repository leads to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openOpener } from '../../src/source/open-opener.ts';
import { openSource } from '../../src/source/open-source.ts';
import { conforms, listAll, readAndClose } from '../support/source/conformance.ts';
import { commit, git, newRepository } from '../support/source/repository.ts';
import { makeTree } from '../support/source/tree.ts';

test('lists what no branch or tag leads to, once, and only if it is asked to', async () => {
  const abandoned = newRepository();
  commit(abandoned, 'first', { a: 'kept' });
  commit(abandoned, 'amended later', { b: 'before the amendment' });
  makeTree(abandoned, { b: 'after it' });
  git(abandoned, 'commit', '-q', '-a', '--amend', '-m', 'amended');
  git(abandoned, 'checkout', '-q', '-b', 'side');
  commit(abandoned, 'deleted', { c: 'of a deleted branch' });
  git(abandoned, 'checkout', '-q', 'main');
  git(abandoned, 'branch', '-q', '-D', 'side');
  makeTree(abandoned, { s: 'staged' });
  git(abandoned, 'add', 's');
  const staged = git(abandoned, 'rev-parse', ':s');
  makeTree(abandoned, { s: 'of a tree without a commit' });
  git(abandoned, 'add', 's');
  git(abandoned, 'write-tree');
  const inTree = git(abandoned, 'rev-parse', ':s');
  git(abandoned, 'reset', '-q', '--hard');
  const opener = await openOpener({ type: 'git', repository: abandoned });
  const contents = async (options: { unreachable?: boolean }): Promise<string[]> => {
    const source = await openSource({ type: 'git', repository: abandoned, ...options });
    const objects = (await listAll(source)).objects.filter(({ path }) => !path.startsWith('commit:'));
    const found: string[] = [];
    for (const object of objects) {
      const text = await readAndClose(await opener.open(object));
      found.push(`${object.path}${object.commit === undefined ? '' : ` of ${object.commit.subject}`}: ${text}`);
    }
    return found.sort();
  };
  const reached = ['a of first: kept', 'b of amended: after it'];
  assert.deepEqual(await contents({}), reached);
  const others = [
    'b of amended later: before the amendment',
    'c of deleted: of a deleted branch',
    `blob:${staged}: staged`,
    `blob:${inTree}: of a tree without a commit`,
  ];
  assert.deepEqual(await contents({ unreachable: true }), [...reached, ...others].sort());
  await opener.close();
  conforms({
    name: 'git with unreachable objects',
    open: () => openSource({ type: 'git', repository: abandoned, unreachable: true }),
    objects: 10,
  });
});

test('lists what was staged in a repository without commits', async () => {
  const unborn = newRepository();
  makeTree(unborn, { s: 'staged' });
  git(unborn, 'add', 's');
  git(unborn, 'rm', '-q', '--cached', 's');
  assert.deepEqual((await listAll(await openSource({ type: 'git', repository: unborn }))).objects, []);
  const { objects } = await listAll(await openSource({ type: 'git', repository: unborn, unreachable: true }));
  assert.deepEqual(
    objects.map(({ path }) => path),
    [`blob:${git(unborn, 'hash-object', 's')}`],
  );
});
