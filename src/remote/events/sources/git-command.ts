import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

import { CodeFault } from '../code-fault.ts';

const STDERR_BYTES_KEPT = 4_096;
/** A few bytes from a server can stand for gigabytes in memory (deltas); git itself has no bound. */
const MEMORY_KIB_MAX = 2 * 1024 * 1024;
/** Where a system has no such bound, git runs without. */
const LAUNCHER = `ulimit -v ${MEMORY_KIB_MAX} 2>/dev/null; exec git "$@"`;
/** What a shell answers where there is no such command. */
const NOT_FOUND = 127;

export interface GitCommand {
  /** Where `git` is looked for. */
  readonly searchPath: string;
  /** The repository made for this pull; also the home directory, so that nobody's settings are read. */
  readonly directory: string;
  /** The one scheme that it may speak. */
  readonly protocol: string;
  /** Sent to the server; null for none. */
  readonly token: string | null;
  readonly signal: AbortSignal;
}

/**
 * Settings that stand before every command: none of the machine's or a repository's own are read, and what git could
 * start by itself (hooks, helpers of credentials, monitors, gc) is off.
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

/** Nothing of this process's environment: the variables of git can name programs to run. */
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

/** A setting in the environment: unlike the command line, only this user can see it. */
function authorization(token: string): Record<string, string> {
  const credentials = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${credentials}`,
  };
}

/**
 * Runs git, in a process group of its own that is killed when the signal aborts, and gives its output to `read`.
 *
 * @throws CodeFault `failure` where git fails; what it said is the cause's message
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
      // It is gone already.
    }
  };
  const ended = new Promise<number | Error | null>((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
  // Without descriptors left there are no pipes, and the error that says so comes later.
  if ((child.stdin as typeof child.stdin | undefined) === undefined) {
    throw new CodeFault('git cannot be started on the executor', await ended);
  }
  command.signal.addEventListener('abort', kill, { once: true });
  const said: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => {
    if (Buffer.concat(said).length < STDERR_BYTES_KEPT) said.push(chunk.subarray(0, STDERR_BYTES_KEPT));
  });
  // A process that ends early closes its input; its exit code tells why.
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
    const cause = code instanceof Error ? code : new Error(Buffer.concat(said).toString('utf8').trim());
    if (code instanceof Error || code === NOT_FOUND)
      throw new CodeFault('git cannot be started on the executor', cause);
    throw new CodeFault(failure, cause);
  } finally {
    command.signal.removeEventListener('abort', kill);
    kill();
    await ended;
  }
}

/** All of the output, as text. @throws CodeFault where it is longer */
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
