import { attachedProcess } from './attached-process.ts';
import { ContainerRemoval } from './container-removal.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { PACKAGE_DIRECTORY, PACKAGE_INSTALLED } from './child/package-name.ts';
import { nodeFlags } from './limits.ts';
import type { TierSettings } from './options.ts';
import type { EventCode } from './port.ts';
import type { Slots } from './slots.ts';
import { SANDBOX_BOOTSTRAP, SANDBOX_RUNTIME, type Stage } from './stage.ts';
import type { Starter } from './starter/starter.ts';

/** Maximum processes and threads of one container. */
const PIDS_MAX = 64;
/** User of tasks: `nobody`, which owns nothing. */
const USER = '65534:65534';
/** Memory for Node itself, in addition to the task's own. */
const NODE_MEMORY_MB = 96;

/** Path of the event's code inside a container. */
const EVENT = '/event';
/** Path at which event code finds this package without bringing a copy. */

export interface ContainerParts {
  readonly settings: TierSettings;
  readonly stage: Stage;
  readonly slots: Slots;
  readonly starter: Starter;
}

/** Starts one container per job through an engine's command. */
export class ContainerLauncher implements Launcher {
  readonly tier = 'container';
  readonly #parts: ContainerParts;
  #started = 0;

  constructor(parts: ContainerParts) {
    this.#parts = parts;
  }

  async start(code: EventCode | null, memoryMb: number): Promise<TaskProcess> {
    if (code === null) throw new Error('a container needs code to start');
    const { settings, stage, slots } = this.#parts;
    const directory = await stage.reachable(code);
    const slot = slots.take();
    this.#started += 1;
    const name = `heddle-${process.pid}-${this.#started}-${settings.clock.now().toString(36)}`;
    const args = containerParameters({ name, directory, runtime: stage.runtime, memoryMb, settings });
    const removal = new ContainerRemoval(settings, name);
    try {
      const attached = await attachedProcess(this.#parts, { args, event: EVENT, remove: () => removal.begin() });
      return { ...attached, gone: attached.gone.finally(() => slot[Symbol.dispose]()) };
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface ContainerPlan {
  readonly name: string;
  /** Directory of the code. */
  readonly directory: string;
  readonly runtime: string;
  readonly memoryMb: number;
  readonly settings: TierSettings;
}

/** Returns the arguments of `docker run`, which podman and nerdctl also accept. */
function containerParameters({ name, directory, runtime, memoryMb, settings }: ContainerPlan): readonly string[] {
  const { container, tmpBytes, openFiles, environment } = settings;
  const memory = `${memoryMb + NODE_MEMORY_MB}m`;
  const variables = Object.entries(environment).filter(([variable]) => variable !== 'PATH');
  return [
    ...['run', '--rm', '--interactive', '--name', name, '--pull', 'never', '--init=false'],
    ...['--network', 'none', '--read-only', '--ipc', 'none', '--user', USER],
    ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--pids-limit', String(PIDS_MAX)],
    ...['--memory', memory, '--memory-swap', memory, '--cpus', String(container.cpus)],
    ...['--ulimit', 'core=0', '--ulimit', `nofile=${openFiles}:${openFiles}`, '--ulimit', `fsize=${tmpBytes}`],
    ...['--tmpfs', `/tmp:rw,nosuid,nodev,noexec,size=${tmpBytes},mode=1777`, '--workdir', '/tmp'],
    ...['--mount', `type=bind,source=${runtime},target=${SANDBOX_RUNTIME},readonly`],
    ...['--mount', `type=bind,source=${runtime}/package,target=${PACKAGE_DIRECTORY},readonly`],
    ...['--mount', `type=bind,source=${directory},target=${EVENT},readonly`],
    ...variables.flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
    ...container.parameters,
    ...['--entrypoint', 'sh', container.image, '-c', 'exec node "$@" 3>&1 1>&2', 'sh'],
    ...nodeFlags(memoryMb),
    SANDBOX_BOOTSTRAP,
    PACKAGE_INSTALLED,
  ];
}
