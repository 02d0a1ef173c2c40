import type { ContainerOptions } from '../options.ts';
import type { CommandLimits } from './command-line.ts';
import type { Command } from './port.ts';
import { RESULT_FILE } from './work-directory.ts';

/** The working directory inside a container. */
const WORK = '/work';
/** Characters of variables that would begin another line of the file. */
const LINE_BREAK = /[\n\r]/;

export interface ContainerPlan {
  readonly name: string;
  readonly image: string;
  /** The working directory on this machine. */
  readonly directory: string;
  readonly variablesFile: string;
  /** User of its processes; null for that of the engine's client. */
  readonly user: number | null;
  readonly limits: CommandLimits;
  readonly container: Required<ContainerOptions>;
}

/** Returns the arguments of `podman run`, which docker also accepts. The image's own entry point is not used. */
export function containerArguments(command: Command, plan: ContainerPlan): readonly string[] {
  const { name, image, directory, variablesFile, limits, container } = plan;
  const { openFiles, fileBytes, processes, tmpBytes } = limits;
  const memory = `${command.memoryMb}m`;
  const [program, ...args] = command.argv;
  return [
    ...['run', '--interactive', '--name', name, '--hostname', 'container', '--log-driver', 'none'],
    ...(command.network ? [] : ['--network', 'none']),
    ...['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', ...userOf(plan)],
    ...[
      '--memory',
      memory,
      '--memory-swap',
      memory,
      '--cpus',
      String(container.cpus),
      '--pids-limit',
      String(processes),
    ],
    ...['--ulimit', 'core=0', '--ulimit', `nofile=${openFiles}:${openFiles}`, '--ulimit', `fsize=${fileBytes}`],
    ...['--ulimit', `nproc=${processes}:${processes}`],
    ...temporaryDirectory(tmpBytes, isPodman(container)),
    ...['--mount', `type=bind,source=${directory},target=${WORK}`, '--workdir', WORK, '--env-file', variablesFile],
    ...container.parameters,
    ...['--entrypoint', program!, image, ...args],
  ];
}

/** Returns the options of the only temporary file system, besides the shared memory of the engine. */
function temporaryDirectory(bytes: number, podman: boolean): readonly string[] {
  // Podman would add others, which have no limit.
  const alone = podman ? ['--read-only-tmpfs=false'] : [];
  return [...alone, '--tmpfs', `/tmp:rw,nosuid,nodev,size=${bytes},mode=1777`];
}

function isPodman({ command }: ContainerPlan['container']): boolean {
  return command.endsWith('podman');
}

function userOf({ user, container }: ContainerPlan): readonly string[] {
  if (user !== null) return ['--user', `${user}:${user}`];
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  // Without root, podman would map this user to the root of the container.
  const keeps = isPodman(container) ? ['--userns', 'keep-id'] : [];
  return ['--user', `${uid}:${gid}`, ...keeps];
}

/**
 * Returns the variables of a command as a file: on the command line every user of the machine could read them.
 * @throws Error if a value has a line break
 */
export function variablesOf({ environment }: Command): string {
  const variables = { HOME: WORK, ...environment, HEDDLE_RESULT: `${WORK}/${RESULT_FILE}` };
  return Object.entries(variables)
    .map(([name, value]) => {
      if (!LINE_BREAK.test(value)) return `${name}=${value}\n`;
      throw new Error(`env.${name}: a container takes no value with a line break; pass it in \`files\` or \`stdin\``);
    })
    .join('');
}
