/** Trees that a hostile command leaves, walked and removed while they change. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { filesLeftIn, type LeftFile } from '../../src/execution/command/left-files.ts';
import { removeTree, TreeTooLarge, walk } from '../../src/execution/directory-tree.ts';

const NOBODY = 65_534;
const run = promisify(execFile);

describe('a tree of files', () => {
  let parent: string;
  let root: string;
  let trees = 0;

  before(async () => {
    parent = await mkdtemp(join(tmpdir(), 'heddle-tree-'));
    await chmod(parent, 0o755);
  });

  after(() => rm(parent, { recursive: true }));

  async function tree(files: Readonly<Record<string, string>>): Promise<string> {
    trees += 1;
    root = join(parent, String(trees));
    await mkdir(root);
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(root, path, '..'), { recursive: true });
      await writeFile(join(root, path), content);
    }
    return root;
  }

  async function pathsIn(directory: string): Promise<string[]> {
    const paths: string[] = [];
    for await (const { path } of walk(directory, { opensAll: false })) paths.push(path);
    return paths;
  }

  /** Makes directories in one another, more than a path can name. */
  const nest = (directory: string, levels: number): Promise<unknown> => {
    const text = `for (let n = 0; n < ${levels}; n += 1) { fs.mkdirSync('deep'); process.chdir('deep'); }`;
    return run(process.execPath, ['-e', text], { cwd: directory });
  };

  test('is walked by name, without entering links', async () => {
    await tree({ 'b/c': '1', a: '2', 'b/d/e': '3' });
    await symlink('/etc', join(root, 'etc'));
    assert.deepEqual(await pathsIn(root), ['a', 'etc', 'b/c', 'b/d/e']);
  });

  test('is too large if it is nested too deep, and is removed nevertheless', async () => {
    await tree({ a: '1' });
    await nest(root, 2_500);
    await assert.rejects(pathsIn(root), TreeTooLarge);
    await removeTree(root);
    assert.ok(!(await readdir(parent)).includes(String(trees)));
    await removeTree(root);
  });

  test('names that are not UTF-8 are found and removed', async () => {
    await tree({});
    await run('bash', ['-c', "mkdir $'d\\xff'; echo 12345 > $'d\\xff/f\\xfe'"], { cwd: root });
    for await (const { isUtf8, stats } of walk(root, { opensAll: false })) {
      assert.deepEqual([isUtf8, stats.size], [false, 6]);
    }
    await removeTree(root);
    assert.ok(!(await readdir(parent)).includes(String(trees)));
  });

  /** Changes the tree when the file is found, and opens it then. */
  async function openAfter(change: (file: LeftFile) => Promise<void>): Promise<string> {
    for await (const file of filesLeftIn(root)) {
      await change(file);
      const handle = await file.open();
      const content = (await handle.readFile()).toString();
      await handle.close();
      return content;
    }
    throw new Error('no file was found');
  }

  test('a file that is swapped for a link, or for another file, is not read', async () => {
    await tree({ 'in/file': 'its own' });
    const path = join(root, 'in/file');
    await assert.rejects(
      openAfter(async () => {
        await rm(path);
        await symlink('/etc/passwd', path);
      }),
      /ELOOP/,
    );
    await rm(path);
    await writeFile(path, 'its own');
    await assert.rejects(
      openAfter(async () => {
        await writeFile(join(root, 'other'), 'other');
        await rename(join(root, 'other'), path);
      }),
      /was replaced while it was read/,
    );
  });

  test('a directory that is swapped for a link leads nowhere else', async () => {
    await tree({ 'in/passwd': 'its own' });
    const content = await openAfter(async () => {
      await rename(join(root, 'in'), join(root, 'out'));
      await symlink('/etc', join(root, 'in'));
    });
    assert.equal(content, 'its own');
  });

  test('a link in the place of the directory is removed, and nothing behind it', async () => {
    await tree({ file: '1' });
    const link = join(parent, 'link');
    await symlink(root, link);
    assert.deepEqual(await pathsIn(link), []);
    await removeTree(link);
    assert.deepEqual(await pathsIn(root), ['file']);
    assert.ok(!(await readdir(parent)).includes('link'));
  });

  test('is removed also by a user whose access was taken away', async (t) => {
    if (process.getuid?.() !== 0) {
      t.skip('NOT RUN: only root can start a process of another user');
      return;
    }
    await tree({ 'in/side/file': '1' });
    const script = join(parent, 'directory-tree.ts');
    await copyFile(join(import.meta.dirname, '../../src/execution/directory-tree.ts'), script);
    for (const path of ['in/side', 'in', '.']) {
      await chown(join(root, path), NOBODY, NOBODY);
      await chmod(join(root, path), 0);
    }
    const text = `const { removeTree } = await import(${JSON.stringify(script)}); await removeTree(${JSON.stringify(root)});`;
    await chmod(parent, 0o777);
    await run(process.execPath, ['--input-type=module', '-e', text], { uid: NOBODY, gid: NOBODY, cwd: '/' });
    assert.ok(!(await readdir(parent)).includes(String(trees)));
  });
});
