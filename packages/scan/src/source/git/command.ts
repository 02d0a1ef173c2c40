import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { childEnvironment } from '@heddle/base/child-environment';

export type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Settings that override the repository's configuration: a repository may be untrusted, and its configuration can name
 * programs. None of git's commands used here runs any of them. Its cache of delta bases, 96 MiB by default, would be one
 * of each thread, and saves nothing when objects are read in the order of the history.
 */
const SETTINGS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.commitGraph=true',
  'core.deltaBaseCacheLimit=16m',
  'diff.external=',
  'log.showSignature=false',
  'log.showRoot=true',
  'log.diffMerges=off',
  'log.follow=false',
  'log.mailmap=false',
  'protocol.allow=never',
].flatMap((setting) => ['-c', setting]);

/**
 * Disables the fetching of missing objects and removes variables of the parent process (such as a hook's) that select
 * a repository.
 */
const VARIABLES = {
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  LC_ALL: 'C',
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_NAMESPACE: undefined,
  GIT_PREFIX: undefined,
  GIT_GRAFT_FILE: undefined,
  GIT_SHALLOW_FILE: undefined,
  GIT_REPLACE_REF_BASE: undefined,
  GIT_EXTERNAL_DIFF: undefined,
  GIT_SSH: undefined,
  GIT_SSH_COMMAND: undefined,
  GIT_ASKPASS: undefined,
};

const ERROR_TEXT_MAX = 4096;

/** A git child process in a repository. */
export interface GitChild {
  process: GitProcess;
  /** Resolves when it has exited: null on success, otherwise the error message. */
  ended: Promise<string | null>;
  /** Terminates it, and resolves when it has exited. */
  stop(): Promise<void>;
}

/**
 * Starts git. `ended` reports a failure to start.
 *
 * @param options the repository's `name` in messages; `hasHelpers`: `stop` ends the processes that git starts, too
 */
export function startGit(
  repository: string,
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>> = {},
  { name = repository, hasHelpers = false }: { name?: string; hasHelpers?: boolean } = {},
): GitChild {
  const child = spawn('git', ['--no-pager', '--no-replace-objects', ...SETTINGS, '-C', repository, ...args], {
    env: childEnvironment({ ...VARIABLES, ...variables }),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of their own.
    detached: hasHelpers,
  });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < ERROR_TEXT_MAX) text += chunk;
  });
  // A child that has exited does not read; `ended` has the reason.
  child.stdin.on('error', () => undefined);
  child.stdout.on('error', () => undefined);
  const ended = new Promise<string | null>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve(startFailureOf(error));
    });
    child.once('close', (code) => {
      resolve(code === 0 ? null : explain(text, name));
    });
  });
  const stop = async (): Promise<void> => {
    child.stdin.destroy();
    child.stdout.destroy();
    if (hasHelpers) killGroup(child.pid);
    else child.kill('SIGKILL');
    await ended;
  };
  return { process: child, ended, stop };
}

/**
 * Runs git to completion.
 *
 * @returns its output
 * @throws Error with the reason and the remedy
 */
export async function runGit(
  repository: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Buffer> {
  const child = startGit(repository, args, variables);
  child.process.stdin.end();
  const pieces: Buffer[] = [];
  child.process.stdout.on('data', (chunk: Buffer) => pieces.push(chunk));
  const failure = await child.ended;
  if (failure !== null) throw new Error(failure);
  return Buffer.concat(pieces);
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // All of them have exited.
  }
}

function startFailureOf(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return `git cannot be started: ${error.message}`;
  return 'git was not found; install it (https://git-scm.com/downloads) to scan the history of a repository';
}

function explain(text: string, repository: string): string {
  const said = text.trim().replace(/^(fatal|error): /, '');
  if (/dubious ownership/.test(said)) {
    const path = /safe\.directory (.+)$/m.exec(said)?.[1] ?? repository;
    return (
      `${repository} belongs to another user, so git refuses to read it; ` +
      `if you trust it, run: git config --global --add safe.directory ${path}`
    );
  }
  if (/not a git repository/i.test(said))
    return `${repository} is not a git repository; name one, or scan it as a path`;
  if (/cannot change to/.test(said)) return `${repository} cannot be read: ${said}`;
  return `git cannot read ${repository}: ${said === '' ? 'it exited without an error' : said}`;
}
