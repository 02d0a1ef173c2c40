import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';

import type { Clock } from '@heddle/base/clock';

/** World-writable directories. */
export const SHARED = ['/tmp', '/var/tmp', '/dev/shm'] as const;
/** Working directory of a process with private directories. */
const PRIVATE_HOME = '/tmp';

export interface PrivateTmpOptions {
  /** Size of each directory, bytes. */
  readonly bytesMax: number;
  /** Directory from which task processes start; stays visible, read-only. */
  readonly stage: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly withinMs: number;
}

/**
 * Gives a process private in-memory file systems in place of world-writable directories. Everything else is unchanged:
 * this keeps tasks from filling the disk and is not a sandbox.
 */
export class PrivateTmp {
  /** Command prefix that runs the rest of the command line with private directories. */
  readonly command: readonly string[];
  readonly #covered: readonly string[];
  readonly #stage: string;

  private constructor(command: readonly string[], covered: readonly string[], stage: string) {
    this.command = command;
    this.#covered = covered;
    this.#stage = stage;
  }

  /** @returns the reason as a string if this machine does not support it */
  static async open(options: PrivateTmpOptions): Promise<PrivateTmp | string> {
    if (process.platform !== 'linux') return 'only Linux has mount namespaces';
    const covered = [...new Set(SHARED.flatMap(realDirectories))];
    const command = commandOf(options, covered);
    const why = await failureOf(command, options);
    return why ?? new PrivateTmp(command, covered, options.stage);
  }

  /** Returns whether a path is hidden by the private directories. */
  covers(path: string): boolean {
    return !isWithin(path, this.#stage) && this.#covered.some((directory) => isWithin(path, directory));
  }
}

function realDirectories(path: string): string[] {
  try {
    return [realpathSync(path)];
  } catch {
    return [];
  }
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

function commandOf({ bytesMax, stage }: PrivateTmpOptions, covered: readonly string[]): readonly string[] {
  return [
    ...['bwrap', '--die-with-parent', '--dev-bind', '/', '/'],
    ...covered.flatMap((path) => ['--perms', '1777', '--size', String(bytesMax), '--tmpfs', path]),
    ...foldersAbove(stage, covered).flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...['--ro-bind', stage, stage, '--chdir', PRIVATE_HOME],
  ];
}

/** Returns the missing parent directories of a path in a new file system, outermost first. */
function foldersAbove(path: string, covered: readonly string[]): readonly string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); covered.some((each) => folder !== each && isWithin(folder, each));) {
    folders.unshift(folder);
    folder = dirname(folder);
  }
  return folders;
}

async function failureOf(command: readonly string[], options: PrivateTmpOptions): Promise<string | null> {
  const { environment, clock, withinMs } = options;
  const [program, ...args] = [...command, 'setpriv', '--version'];
  const child = spawn(program, args, { env: environment, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let errorOutput = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput = (errorOutput + text).slice(-1_000)));
  const cancel = clock.after(withinMs, () => child.kill('SIGKILL'));
  const ended = await new Promise<number | string | null>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const path = (environment['PATH'] ?? '').split(delimiter).join(', ');
      resolve(error.code === 'ENOENT' ? `bwrap is not in ${path}; install the package bubblewrap` : error.message);
    });
    child.once('close', resolve);
  });
  cancel();
  if (ended === 0) return null;
  return typeof ended === 'string' ? ended : errorOutput.trim() || `bwrap exited with ${ended}`;
}

/** Returns the `setpriv` arguments that set the user. */
export function asUser(user: number | null): readonly string[] {
  return user === null ? [] : ['--reuid', String(user), '--regid', String(user), '--clear-groups'];
}
