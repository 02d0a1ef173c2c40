import { execFile } from 'node:child_process';
import { readlinkSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, parse, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { WARM_UP } from './child/package-name.ts';
import { removeTree } from './directory-tree.ts';
import type { EventCode } from './port.ts';

/** What events import. */
const EVENT_PACKAGE = '@heddle/kit/event';
/** Path of the runtime inside a jail or container. */
export const SANDBOX_RUNTIME = '/heddle';
/** Script that Node starts with; the package that events import lies next to it. */
const BOOTSTRAP = 'bootstrap.cjs';
const STARTER = 'starter.cjs';
export const SANDBOX_BOOTSTRAP = `${SANDBOX_RUNTIME}/${BOOTSTRAP}`;
export const SANDBOX_ZYGOTE = `${SANDBOX_RUNTIME}/zygote.cjs`;
const PREFIX = 'heddle-tier';
/** Limit of remembered code locations, including copies kept while unused. */
const PLACES_MAX = 32;

/**
 * A directory readable by every user of the machine, from which task processes start: it holds the bootstrap, and
 * copies of code that those users cannot reach.
 */
export class Stage {
  readonly directory: string;
  /** Returns whether a path is hidden from task processes. */
  #isHidden: (path: string) => boolean = () => false;
  /** Reachable locations of code, most recently used last. */
  readonly #places = new Map<string, Promise<string>>();
  /** What is being written in the stage, or removed from it. */
  readonly #changes = new Set<Promise<unknown>>();
  #isRemoved = false;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** Sets which paths are hidden from task processes. */
  hide(isHidden: (path: string) => boolean): void {
    this.#isHidden = isHidden;
  }

  /** Creates a stage and removes those of ended executors. @param parent directory to create it in */
  static async make(parent: string): Promise<Stage> {
    await clearStale(parent, PREFIX);
    const stage = new Stage(await mkdtemp(join(parent, ownPrefix(PREFIX))));
    await chmod(stage.directory, 0o755);
    await writeScripts(stage.directory);
    await writeEventPackage(stage.runtime);
    await makeReadableByAll(stage.directory);
    await mkdir(join(stage.directory, 'code'), { mode: 0o755 });
    await mkdir(join(stage.directory, 'work'), { mode: 0o755 });
    return stage;
  }

  /** Returns the directory of the bootstrap's files. */
  get runtime(): string {
    return join(this.directory, 'remote');
  }

  /** Returns the script of the starter process; tasks do not use it. */
  get starter(): string {
    return join(this.directory, STARTER);
  }

  get bootstrap(): string {
    return join(this.runtime, BOOTSTRAP);
  }

  /** Returns a directory in which the users of tasks can read the code; resolved once per code. */
  reachable(code: EventCode): Promise<string> {
    if (this.#isRemoved) return Promise.reject(new Error('the tier is closed'));
    const key = `${code.digest}\0${code.entry}\0${identityOf(code.directory)}`;
    const place = this.#places.get(key) ?? this.#tracked(this.#locate(code));
    this.#places.delete(key);
    this.#places.set(key, place);
    place.catch(() => this.#places.delete(key));
    if (this.#places.size > PLACES_MAX) this.#forgetOldest();
    return place;
  }

  async #locate(code: EventCode): Promise<string> {
    const isHidden = this.#isHidden(await realpath(code.directory));
    return !isHidden && (await isReachable(join(code.directory, code.entry))) ? code.directory : this.#copy(code);
  }

  #forgetOldest(): void {
    const [oldest] = this.#places;
    if (oldest === undefined) return;
    const [key, place] = oldest;
    this.#places.delete(key);
    const removeCopy = async (path: string): Promise<void> => {
      if (path.startsWith(this.directory)) await removeTree(path);
    };
    void this.#tracked(place.then(removeCopy)).catch(() => undefined);
  }

  #tracked<Result>(change: Promise<Result>): Promise<Result> {
    this.#changes.add(change);
    const forget = (): boolean => this.#changes.delete(change);
    change.then(forget, forget);
    return change;
  }

  async #copy(code: EventCode): Promise<string> {
    const directory = await mkdtemp(join(this.directory, 'code', 'code-'));
    await cp(code.directory, directory, { recursive: true, verbatimSymlinks: true });
    await makeReadableByAll(directory);
    return directory;
  }

  /** Removes the directory, once nothing is being written in it. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    await Promise.allSettled(this.#changes);
    await removeTree(this.directory);
  }
}

/**
 * Returns a key that distinguishes successive directories with the same path. Synchronous, because for this per-task
 * check on a local disk that takes a tenth of the time.
 */
export function identityOf(directory: string): string {
  const { ino, birthtimeMs } = statSync(directory);
  return `${directory}\0${ino}\0${birthtimeMs}`;
}

/** Returns the URL of the code's module within a directory. */
export function moduleUrl(directory: string, entry: string): string {
  const path = resolve(directory, entry);
  if (!path.startsWith(resolve(directory) + '/')) throw new Error(`the entry ${entry} is outside its code`);
  return pathToFileURL(path).href;
}

/** Returns whether any user can read the file and traverse the folders above it. */
export async function isReachable(file: string): Promise<boolean> {
  try {
    if (((await stat(file)).mode & 0o004) === 0) return false;
    for (let folder = dirname(file); ; folder = dirname(folder)) {
      if (((await stat(folder)).mode & 0o001) === 0) return false;
      if (folder === parse(folder).root) return true;
    }
  } catch {
    return false;
  }
}

async function makeReadableByAll(path: string): Promise<void> {
  await chmod(path, 0o755);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) await makeReadableByAll(inner);
    else if (entry.isFile()) await chmod(inner, 0o444);
  }
}

/** Writes the scripts of task processes and the module of the event package, each bundled into one file. */
async function writeScripts(to: string): Promise<void> {
  if (import.meta.url.endsWith('.ts')) {
    const script = join(import.meta.dirname, '../../../../scripts/bundle-task-scripts.ts');
    await promisify(execFile)(process.execPath, [script, to]);
  } else await cp(join(import.meta.dirname, 'scripts'), to, { recursive: true });
}

async function writeEventPackage(to: string): Promise<void> {
  const manifest = { name: '@heddle/kit', exports: { './event': './index.mjs' } };
  await writeFile(join(to, 'package/package.json'), JSON.stringify(manifest));
  const definition = `defineEvent({ name: '${WARM_UP.event}', run: () => null })`;
  const warmUp = `import { defineEvent } from '${EVENT_PACKAGE}';\nexport default ${definition};\n`;
  await writeFile(join(to, WARM_UP.file), warmUp);
}

/** Returns the number of the namespace that process ids of this machine belong to. */
export function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

/** Returns the beginning of the names that are of this process: its namespace and id. */
export function ownPrefix(prefix: string): string {
  return `${prefix}-${pidNamespace()}-${process.pid}-`;
}

/** Removes what processes that have ended left in a directory under such names. */
export async function clearStale(parent: string, prefix: string): Promise<void> {
  const pattern = new RegExp(`^${prefix}-${pidNamespace()}-(\\d+)-`);
  for (const name of await readdir(parent)) {
    const pid = pattern.exec(basename(name))?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await removeTree(join(parent, name)).catch(() => undefined);
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
