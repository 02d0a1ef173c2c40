import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { type UserRange, USERS } from './slots.ts';

/** How the engine of the tier `container` is driven. */
export interface ContainerOptions {
  /** The engine's command, `docker` by default; `podman` and `nerdctl` read the same parameters. */
  command?: string;
  /** What a container is made of: `sh`, and a `node` that is no older than this one. `node:24-slim` by default. */
  image?: string;
  /** Further parameters, put before the image: `--runtime=runsc`. */
  parameters?: readonly string[];
  /** Processor cores for each container; 1 by default. */
  cpus?: number;
  /** Of the engine's command, which finds its engine by it; `PATH` alone by default. */
  environment?: Readonly<Record<string, string>>;
}

export interface TierOptions {
  /** Jobs that are run at once, and the most processes that are started ahead. */
  workers: number;
  /** Mebibytes of a pooled process, and of one that is asked what its code defines; 256 by default. */
  memoryMb?: number;
  clock: Clock;
  /** Lines that events write, and processes that ended in odd ways. */
  log: Logger;
  /** All that tasks see of the environment; PATH, LANG and TZ by default. */
  environment?: Readonly<Record<string, string>>;
  /** Where the directory is made that processes of tasks are started from; every user must be able to pass it. */
  directory: string;
  /** Size of each private temporary directory of a task, and of its largest file, bytes; 16 MiB by default. */
  tmpBytes?: number;
  /** Whether pooled and plain processes get directories for temporary files of their own where it can be; true by default. */
  privateTmp?: boolean;
  /** Files that a task can have open; 256 by default. */
  openFiles?: number;
  /** Between the signal that aborts and the end by force; 50 by default. */
  graceMs?: number;
  /** A process must be ready within this time; 10,000 by default. */
  startMs?: number;
  /** Code must have said within this time what it defines; 10,000 by default. */
  describeMs?: number;
  /** After so many jobs a pooled process is replaced, which costs what a thousand small jobs cost; 10,000 by default. */
  jobsPerProcess?: number;
  /** Processes that were started ahead end after this time without a job; 300,000 by default. */
  spareIdleMs?: number;
  /** Of the tier `container`. */
  container?: ContainerOptions;
  /** Whether the memory controller of the kernel is used where it can be; true by default. */
  controlGroups?: boolean;
  /** Whom tasks run as, where this process is root. */
  users?: UserRange;
  /** What a task wrote to its standard output and error, at most 64 KiB of each; called once a job that wrote anything. */
  onOutput?: (output: TaskOutput) => void;
}

export interface TaskOutput {
  readonly correlation_id: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Written in all. */
  readonly bytes: number;
}

export type TierSettings = Required<Omit<TierOptions, 'container'>> & { container: Required<ContainerOptions> };

/** Where commands are found that every Linux has. */
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
    controlGroups: true,
    users: USERS,
    onOutput: () => undefined,
    ...options,
    container: { ...CONTAINER, ...options.container },
  };
}
