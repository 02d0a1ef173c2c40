import { spawn } from 'node:child_process';
import { readlinkSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, parse, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { bundle, type Sources } from './bundle.ts';
import { WARM_UP } from './child/package-name.ts';
import type { EventCode } from './port.ts';

/** Source folders that make up a task process. */
const FOLDERS = ['execution/child', 'execution/starter'] as const;
/** Modules that they share with the executor. */
const SHARED = ['execution/priority'] as const;
const HERE = fileURLToPath(new URL('..', import.meta.url));
/** What events import, and the process that runs them. */
const EVENT_PACKAGE = '@heddle/kit/event';
/** Path of the runtime inside a jail or container. */
export const SANDBOX_RUNTIME = '/heddle';
/** Script that Node starts with; the package that events import lies next to it. */
const BOOTSTRAP = 'bootstrap.cjs';
const STARTER = 'starter.cjs';
export const SANDBOX_BOOTSTRAP = `${SANDBOX_RUNTIME}/${BOOTSTRAP}`;
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

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** Sets which paths are hidden from task processes. */
  hide(isHidden: (path: string) => boolean): void {
    this.#isHidden = isHidden;
  }

  /** Creates a stage and removes those of ended executors. @param parent directory to create it in */
  static async make(parent: string): Promise<Stage> {
    await clearStale(parent);
    const stage = new Stage(await mkdtemp(join(parent, `${PREFIX}-${pidNamespace()}-${process.pid}-`)));
    await chmod(stage.directory, 0o755);
    await writeRuntime(stage.runtime, stage.starter);
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
    const key = `${code.digest}\0${code.entry}\0${identityOf(code.directory)}`;
    const place = this.#places.get(key) ?? this.#locate(code);
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
      if (path.startsWith(this.directory)) await rm(path, { recursive: true, force: true });
    };
    void place.then(removeCopy).catch(() => undefined);
  }

  async #copy(code: EventCode): Promise<string> {
    const directory = await mkdtemp(join(this.directory, 'code', 'code-'));
    await cp(code.directory, directory, { recursive: true, verbatimSymlinks: true });
    await makeReadableByAll(directory);
    return directory;
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true, maxRetries: 3 });
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

/** Writes the bootstrap and the package for events, each bundled without imports so that it loads in one step. */
async function writeRuntime(to: string, starter: string): Promise<void> {
  const sources = await sourcesOf(FOLDERS, SHARED);
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const bootstrap = bundle(sources, `execution/child/main.${extension}`);
  await writeFile(starter, bundle(sources, `execution/starter/main.${extension}`).code, { mode: 0o444 });
  const definition = bundle(sources, EVENT_PACKAGE);
  const exports = { './event': './index.mjs' };
  const files = {
    [BOOTSTRAP]: bootstrap.code,
    [WARM_UP.file]: `import { defineEvent } from '${EVENT_PACKAGE}';\nexport default defineEvent({ name: '${WARM_UP.event}', run: () => null });\n`,
    'package/package.json': JSON.stringify({ name: '@heddle/kit', exports }),
    'package/index.mjs': `${definition.code}export const ${definition.exported.join(',\n  ')};\n`,
  };
  await mkdir(join(to, 'package'), { recursive: true, mode: 0o755 });
  for (const [name, text] of Object.entries(files)) await writeFile(join(to, name), text, { mode: 0o444 });
}

/** Returns plain JavaScript without types, so that task processes do not pay for stripping them. */
async function sourcesOf(folders: readonly string[], single: readonly string[]): Promise<Sources> {
  const paths: string[] = [];
  for (const folder of folders) {
    const names = await readdir(join(HERE, folder));
    paths.push(...names.filter((name) => /(?<!\.d)\.(ts|js)$/.test(name)).map((name) => `${folder}/${name}`));
  }
  const extension = paths[0]!.endsWith('.ts') ? 'ts' : 'js';
  paths.push(...single.map((name) => `${name}.${extension}`));
  const files = new Map([...paths.map((path) => [path, join(HERE, path)] as const), ...(await eventPackage())]);
  const texts = await Promise.all([...files.values()].map((file) => readFile(file, 'utf8')));
  const plain = extension === 'ts' ? await withoutTypes(texts) : texts;
  return new Map([...files.keys()].map((path, index) => [path, plain[index]!]));
}

/** Returns the files of the package that events import, by the path that imports among them lead to. */
async function eventPackage(): Promise<readonly (readonly [path: string, file: string])[]> {
  const entry = fileURLToPath(import.meta.resolve(EVENT_PACKAGE));
  const names = (await readdir(dirname(entry))).filter((name) => /(?<!\.d)\.(ts|js)$/.test(name));
  return names.map((name) => {
    const file = join(dirname(entry), name);
    return [file === entry ? EVENT_PACKAGE : `${dirname(EVENT_PACKAGE)}/${name}`, file] as const;
  });
}

const STRIP = `
  const { stripTypeScriptTypes } = await import('node:module');
  let input = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) input += chunk;
  process.stdout.write(JSON.stringify(JSON.parse(input).map((text) => stripTypeScriptTypes(text))));
`;

/** Runs in a separate process, because Node would otherwise print an experimental warning. */
async function withoutTypes(texts: readonly string[]): Promise<readonly string[]> {
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', STRIP], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(texts));
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) output += chunk;
  return JSON.parse(output) as readonly string[];
}

function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

async function clearStale(parent: string): Promise<void> {
  const pattern = new RegExp(`^${PREFIX}-${pidNamespace()}-(\\d+)-`);
  for (const name of await readdir(parent)) {
    const pid = pattern.exec(basename(name))?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
