import { existsSync } from 'node:fs';

import { limitedBy } from '../limits.ts';
import { RESULT_FILE } from './work-directory.ts';
import type { Command } from './port.ts';

/** The working directory inside a jail. */
const WORK = '/work';

/** What a jail shows of the machine: programs, libraries, and what they need of `/etc`; no home, no data. */
const SHOWN = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt'];
const SHOWN_OF_ETC = [
  ...['alternatives', 'ca-certificates', 'group', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime'],
  ...['magic', 'mime.types', 'nsswitch.conf', 'passwd', 'pki', 'protocols', 'services', 'ssl'],
];
/** Needed to look names up, shown only to commands that may use the network. */
const NETWORK_OF_ETC = ['hosts', 'resolv.conf'];

export interface CommandLimits {
  /** Largest file, bytes. */
  readonly fileBytes: number;
  /** Size of each temporary file system of a jail, bytes. */
  readonly tmpBytes: number;
  readonly openFiles: number;
  readonly processes: number;
}

export interface Placement {
  readonly directory: string;
  /** User of the processes; null for that of this process. */
  readonly user: number | null;
}

/** Waits for a line on descriptor 3, then becomes the rest of the command line: the memory group comes first. */
const GATE = ['sh', '-c', 'read -r _ <&3; exec 3<&-; exec "$@"', 'sh'] as const;

/** Returns the command line of a plain process with limits. */
export function plainCommandLine(command: Command, limits: CommandLimits, { user }: Placement): readonly string[] {
  return [
    ...GATE,
    ...limited(command, limits, user === null ? null : limits.processes),
    ...['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'],
    ...command.argv,
  ];
}

/** Returns the command line of a process in its own namespaces, which sees programs, its working directory and no more. */
export function jailCommandLine(command: Command, limits: CommandLimits, { directory, user }: Placement): string[] {
  const etc = command.network ? [...SHOWN_OF_ETC, ...NETWORK_OF_ETC] : SHOWN_OF_ETC;
  const shown = [...SHOWN, ...etc.map((name) => `/etc/${name}`)].filter((path) => existsSync(path));
  const size = String(limits.tmpBytes);
  // A user that others share is counted in the namespace of the jail, an exclusive one before it.
  const [outside, inside] = user === null ? [null, limits.processes] : [limits.processes, null];
  return [
    ...GATE,
    ...limited(command, limits, outside),
    ...['bwrap', '--unshare-all', '--unshare-user', '--disable-userns', ...(command.network ? ['--share-net'] : [])],
    ...['--die-with-parent', '--cap-drop', 'ALL', '--hostname', 'jail'],
    ...shown.flatMap((path) => ['--ro-bind', path, path]),
    ...['--proc', '/proc', '--dev', '/dev', '--size', size, '--tmpfs', '/dev/shm', '--size', size, '--tmpfs', '/tmp'],
    ...['--bind', directory, WORK, '--remount-ro', '/', '--chdir', WORK, '--'],
    ...(inside === null ? [] : ['prlimit', `--nproc=${inside}`]),
    // Exits with 127 and names the program if there is none of that name; bwrap would exit with 1.
    ...['setpriv', '--no-new-privs', '--'],
    ...command.argv,
  ];
}

/** Returns the environment of a command; `home` is the working directory as it sees it. */
export function environmentOf(
  command: Command,
  base: Readonly<Record<string, string>>,
  home: string,
): Readonly<Record<string, string>> {
  return { ...base, HOME: home, ...command.environment, HEDDLE_RESULT: `${home}/${RESULT_FILE}` };
}

export function homeOf(tier: 'jail' | 'process', directory: string): string {
  return tier === 'jail' ? WORK : directory;
}

function limited({ memoryMb }: Command, limits: CommandLimits, processes: number | null): readonly string[] {
  const { openFiles, fileBytes } = limits;
  return limitedBy({ baselineBytes: 0, memoryMb, openFiles, fileBytes, processes });
}
