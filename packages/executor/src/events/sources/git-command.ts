import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

import { CodeFault } from '../code-fault.ts';

const STDERR_BYTES_KEPT = 4_096;
/** Memory limit: a few bytes from a server (deltas) can expand to gigabytes, and git has no limit of its own. */
const MEMORY_KIB_MAX = 2 * 1024 * 1024;
/** On systems without this limit git runs unlimited. */
const LAUNCHER = `ulimit -v ${MEMORY_KIB_MAX} 2>/dev/null; exec git "$@"`;
/** Exit code of a shell for a missing command. */
const NOT_FOUND = 127;

export interface GitCommand {
  /** `PATH` searched for `git`. */
  readonly searchPath: string;
  /** Repository created for this pull; also the home directory, so that no user settings apply. */
  readonly directory: string;
  /** The only allowed transport protocol. */
  readonly protocol: string;
  /** Token sent to the server; null for none. */
  readonly token: string | null;
  readonly signal: AbortSignal;
}

/**
 * Options of every command: disable settings of the machine or repository, and everything git could start by itself
 * (hooks, credential helpers, monitors, gc).
 */
const SETTINGS = [
  ...['-c', 'core.hooksPath=/dev/null'],
  ...['-c', 'core.fsmonitor=false'],
  ...['-c', 'core.bigFileThreshold=1m'],
  ...['-c', 'credential.helper='],
  ...['-c', 'gc.auto=0'],
  ...['-c', 'maintenance.auto=false'],
  ...['-c', 'http.followRedirects=false'],
  ...['-c', 'pack.threads=1'],
  ...['-c', 'protocol.version=2'],
  ...['-c', 'submodule.recurse=false'],
  ...['-c', 'fetch.recurseSubmodules=false'],
  ...['-c', 'uploadpack.packObjectsHook='],
];

/** Builds a minimal environment, because git's own variables can name programs to run. */
function environment({ searchPath, directory, protocol, token }: GitCommand): Record<string, string> {
  return {
    PATH: searchPath,
    HOME: directory,
    LANG: 'C',
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_ASKPASS: '/bin/false',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    ...(token === null ? {} : authorization(token)),
  };
}

/** Passes the credentials through the environment, which unlike the command line is visible to this user only. */
function authorization(token: string): Record<string, string> {
  const credentials = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${credentials}`,
  };
}

/**
 * Runs git in its own process group, which is killed on abort, and passes its output to `read`.
 *
 * @throws CodeFault with `failure` if git fails; the cause's message is git's error output
 */
export async function runGit<T>(
  command: GitCommand,
  args: readonly string[],
  { failure, input = '', read }: { failure: string; input?: string; read: (output: Readable) => Promise<T> },
): Promise<T> {
  command.signal.throwIfAborted();
  const child = spawn('/bin/sh', ['-c', LAUNCHER, 'git', ...SETTINGS, ...args], {
    cwd: command.directory,
    env: environment(command),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
  };
  const ended = new Promise<number | Error | null>((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
  // If no descriptors are left, there are no pipes; the error event follows.
  if ((child.stdin as typeof child.stdin | undefined) === undefined) {
    throw new CodeFault('git could not be started on the executor', await ended);
  }
  command.signal.addEventListener('abort', kill, { once: true });
  const errorOutput: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => {
    if (Buffer.concat(errorOutput).length < STDERR_BYTES_KEPT) errorOutput.push(chunk.subarray(0, STDERR_BYTES_KEPT));
  });
  // A process that exits early closes its input; its exit code says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const result = await read(child.stdout).catch((error: unknown) => {
      kill();
      throw error;
    });
    child.stdout.resume();
    const code = await ended;
    command.signal.throwIfAborted();
    if (code === 0) return result;
    const cause = code instanceof Error ? code : new Error(Buffer.concat(errorOutput).toString('utf8').trim());
    if (code instanceof Error || code === NOT_FOUND)
      throw new CodeFault('git could not be started on the executor', cause);
    throw new CodeFault(failure, cause);
  } finally {
    command.signal.removeEventListener('abort', kill);
    kill();
    await ended;
  }
}

/** Reads the whole output. @throws CodeFault if it exceeds the limit */
export async function readAll(output: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of output as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new CodeFault('the repository has too many files');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
