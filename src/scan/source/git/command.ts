import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { childEnvironment } from '../../../runtime/child-environment.ts';

export type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * A repository may be somebody else's, and its configuration can name programs. Nothing that is asked of git here runs
 * any of them, and these settings, which win over the repository's, see to it.
 */
const SETTINGS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.commitGraph=true',
  'diff.external=',
  'log.showSignature=false',
  'log.showRoot=true',
  'log.diffMerges=off',
  'log.follow=false',
  'log.mailmap=false',
  'protocol.allow=never',
].flatMap((setting) => ['-c', setting]);

/**
 * Objects that are missing are not fetched, and nothing of whoever started this process (a hook has such variables)
 * says which repository is meant.
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

/** A child that runs git in a repository. */
export interface GitChild {
  process: GitProcess;
  /** Resolves when it has ended: null where it did what it was asked, otherwise what is wrong, for people. */
  ended: Promise<string | null>;
  /** Ends it, and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Starts git. What goes wrong at the start is told by `ended`. */
export function startGit(
  repository: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): GitChild {
  const child = spawn('git', ['--no-pager', '--no-replace-objects', ...SETTINGS, '-C', repository, ...args], {
    env: childEnvironment({ ...VARIABLES, ...variables }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < ERROR_TEXT_MAX) text += chunk;
  });
  // A child that has ended does not read; `ended` says why.
  child.stdin.on('error', () => undefined);
  child.stdout.on('error', () => undefined);
  const ended = new Promise<string | null>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve(startFailureOf(error));
    });
    child.once('close', (code) => {
      resolve(code === 0 ? null : explain(text, repository));
    });
  });
  const stop = async (): Promise<void> => {
    child.stdin.destroy();
    child.stdout.destroy();
    child.kill('SIGKILL');
    await ended;
  };
  return { process: child, ended, stop };
}

/**
 * Runs git to its end.
 *
 * @returns what it wrote
 * @throws Error that says what is wrong and what to do
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

function startFailureOf(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return `git cannot be started: ${error.message}`;
  return 'git was not found; install it (https://git-scm.com/downloads) to scan the history of a repository';
}

function explain(text: string, repository: string): string {
  const said = text.trim().replace(/^(fatal|error): /, '');
  if (/dubious ownership/.test(said)) {
    const path = /safe\.directory (.+)$/m.exec(said)?.[1] ?? repository;
    return (
      `${repository} belongs to another user, and git does not read it; ` +
      `if you trust it: git config --global --add safe.directory ${path}`
    );
  }
  if (/not a git repository/i.test(said)) return `${repository} is no git repository; name one, or scan it as a path`;
  if (/cannot change to/.test(said)) return `${repository} cannot be read: ${said}`;
  return `git cannot read ${repository}: ${said === '' ? 'it ended without saying why' : said}`;
}
