import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';

import type { Clock } from '../../runtime/clock.ts';

/** Where everybody may write. */
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'] as const;
/** Where a process with directories of its own begins. */
export const PRIVATE_HOME = '/tmp';

export interface PrivateTmpOptions {
  /** Of each of the directories. */
  readonly bytesMax: number;
  /** Stays visible, read-only: what processes of tasks are started from. */
  readonly stage: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly withinMs: number;
}

/**
 * Gives a process file systems in memory of its own in place of the directories that everybody may write to. All else is as
 * it was: this keeps the machine's disk from being filled, and is no sandbox.
 */
export class PrivateTmp {
  /** The beginning of a command line; what follows has them. */
  readonly command: readonly string[];
  readonly #covered: readonly string[];
  readonly #stage: string;

  private constructor(command: readonly string[], covered: readonly string[], stage: string) {
    this.command = command;
    this.#covered = covered;
    this.#stage = stage;
  }

  /** @returns or why this machine does not give them to this process */
  static async open(options: PrivateTmpOptions): Promise<PrivateTmp | string> {
    if (process.platform !== 'linux') return 'only Linux has namespaces of mounts';
    const covered = [...new Set(SHARED.flatMap(realDirectories))];
    const command = commandOf(options, covered);
    const why = await tried(command, options);
    return why ?? new PrivateTmp(command, covered, options.stage);
  }

  /** Whether a path lies where the machine's files are not to be seen. */
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

/** Folders on the way to a path that a new file system does not have yet; from above to below. */
function foldersAbove(path: string, covered: readonly string[]): readonly string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); covered.some((each) => folder !== each && isWithin(folder, each));) {
    folders.unshift(folder);
    folder = dirname(folder);
  }
  return folders;
}

async function tried(command: readonly string[], options: PrivateTmpOptions): Promise<string | null> {
  const { environment, clock, withinMs } = options;
  const [program, ...args] = [...command, 'setpriv', '--version'];
  const child = spawn(program, args, { env: environment, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-1_000)));
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
  return typeof ended === 'string' ? ended : said.trim() || `bwrap ended with ${ended}`;
}

/** Sets the user of what follows on a command line. */
export function asUser(user: number | null): readonly string[] {
  return user === null ? [] : ['--reuid', String(user), '--regid', String(user), '--clear-groups'];
}
