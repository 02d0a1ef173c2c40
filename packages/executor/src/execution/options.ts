import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { type UserRange, USERS } from './slots.ts';

/** Settings of the engine of the tier `container`. */
export interface ContainerOptions {
  /** The engine's command, default `docker`; `podman` and `nerdctl` accept the same arguments. */
  command?: string;
  /** Image with `sh` and a `node` at least as new as this one. Default `node:24-slim`. */
  image?: string;
  /** Additional arguments before the image, such as `--runtime=runsc`. */
  parameters?: readonly string[];
  /** Processor cores per container; default 1. */
  cpus?: number;
  /** Environment of the engine's command, which locates the engine; default only `PATH`. */
  environment?: Readonly<Record<string, string>>;
}

export interface TierOptions {
  /** Maximum concurrent jobs, and maximum spare processes. */
  workers: number;
  /** Memory of a pooled process, and of one that describes code, MiB; default 256. */
  memoryMb?: number;
  clock: Clock;
  /** Receives log lines of events and abnormal process exits. */
  log: Logger;
  /** Environment of tasks; default PATH, LANG and TZ. */
  environment?: Readonly<Record<string, string>>;
  /** Parent of the directory from which task processes start; every user must be able to traverse it. */
  directory: string;
  /** Size of each private temporary directory and of a task's largest file, bytes; default 16 MiB. */
  tmpBytes?: number;
  /** Whether pooled and plain processes get private temporary directories where supported; default true. */
  privateTmp?: boolean;
  /** Maximum open files of a task; default 256. */
  openFiles?: number;
  /** Time between the abort signal and the kill, ms; default 50. */
  graceMs?: number;
  /** Time limit for a process to become ready, ms; default 10,000. */
  startMs?: number;
  /** Time limit for describing code, ms; default 10,000. */
  describeMs?: number;
  /** Jobs after which a pooled process is replaced, which costs as much as a thousand small jobs; default 10,000. */
  jobsPerProcess?: number;
  /** Idle time after which a spare process ends, ms; default 300,000. */
  spareIdleMs?: number;
  /** Settings of the tier `container`. */
  container?: ContainerOptions;
  /** Whether processes of the jail are forked where supported, which takes milliseconds instead of some forty; default true. */
  forks?: boolean;
  /** Whether the kernel's memory controller is used where available; default true. */
  controlGroups?: boolean;
  /** Users of tasks, if this process is root. */
  users?: UserRange;
  /** Receives a task's standard output and error, at most 64 KiB each; called once per job with output. */
  onOutput?: (output: TaskOutput) => void;
}

export interface TaskOutput {
  readonly correlation_id: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Total bytes written. */
  readonly bytes: number;
}

export type TierSettings = Required<Omit<TierOptions, 'container'>> & { container: Required<ContainerOptions> };

/** Standard locations of commands on Linux. */
const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
  TZ: 'UTC',
};

const CONTAINER: Required<ContainerOptions> = {
  command: 'docker',
  image: 'node:24-slim',
  parameters: [],
  cpus: 1,
  environment: { PATH: ENVIRONMENT.PATH },
};

export function withDefaults(options: TierOptions): TierSettings {
  return {
    memoryMb: 256,
    environment: ENVIRONMENT,
    tmpBytes: 16 * 1024 * 1024,
    privateTmp: true,
    openFiles: 256,
    graceMs: 50,
    startMs: 10_000,
    describeMs: 10_000,
    jobsPerProcess: 10_000,
    spareIdleMs: 300_000,
    forks: true,
    controlGroups: true,
    users: USERS,
    onOutput: () => undefined,
    ...options,
    container: { ...CONTAINER, ...options.container },
  };
}
