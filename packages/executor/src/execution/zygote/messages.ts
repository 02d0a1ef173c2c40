/** JSON frames between the executor and a zygote, a process that forks task processes. */
export const FORK_ORDER = {
  fork: 0x53,
  kill: 0x4b,
} as const;

export const FORK_NOTE = {
  ready: 0x59,
  forked: 0x50,
  failed: 0x46,
  exited: 0x45,
} as const;

export interface ForkOrder {
  readonly id: number;
  /** User of the task; null if the zygote cannot choose one. */
  readonly user: number | null;
  /** Prefix of each connection, followed by the digit of its stream. */
  readonly token: string;
}

export interface ForkedNote {
  readonly id: number;
  /** Process id in the zygote's namespace. */
  readonly pid: number;
}

/** What a zygote needs to know, as JSON in its arguments. */
export interface ZygoteSettings {
  /** Directory of the native part of koffi. */
  readonly native: string;
  /** Size of the task's `/tmp`. */
  readonly tmpBytes: number;
  readonly openFiles: number;
  /** Writable private memory that a task may reserve in addition to what the zygote has. */
  readonly dataBytes: number;
}

/** Streams of a task process: standard input, output, error, and frames. */
export const TASK_STREAMS = 4;

/** Descriptors of a zygote after its standard streams. */
export const ZYGOTE_FILES = {
  /** System call filter of its tasks. */
  filter: 3,
  /** Directory of the socket at which the executor accepts streams. */
  streams: 4,
  /** Its own filter, which bubblewrap reads. */
  ownFilter: 5,
} as const;
