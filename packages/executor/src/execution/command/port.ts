/** Isolation of a command, strongest first. */
export const COMMAND_TIERS = ['jail', 'container', 'process'] as const;

export type CommandTier = (typeof COMMAND_TIERS)[number];

/** A file that a command finds in its working directory. */
export interface CommandFile {
  /** Relative to the working directory, without `..`. */
  readonly path: string;
  /** Opened when it is written, if it is a function. */
  readonly content: Uint8Array | (() => Promise<AsyncIterable<Uint8Array>>);
}

/** A program to run once, in a fresh working directory. */
export interface Command {
  /** Program and arguments; the program is looked up in `PATH`. */
  readonly argv: readonly string[];
  /** Added to `PATH`, `LANG`, `TZ`, `HOME` and `HEDDLE_RESULT`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: Uint8Array;
  readonly files: readonly CommandFile[];
  /** Image of its container; absent in other tiers. */
  readonly image?: string;
  readonly memoryMb: number;
  /** Whether it may use the network. */
  readonly network: boolean;
}

export type OutputStream = 'stdout' | 'stderr';

export interface CommandHost {
  /** Ends the command: SIGTERM to all its processes, SIGKILL after the grace period. */
  readonly signal: AbortSignal;
  readonly onOutput: (stream: OutputStream, chunk: Buffer) => void;
  /** Called with the working directory after the last process has ended, before it is removed. */
  readonly onEnd?: (directory: string) => Promise<void>;
}

/** How a command ended. Exactly one of `exitCode` and `signal` is set. */
export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Whether it was ended because the host's signal aborted. */
  readonly stopped: boolean;
  /** Whether the kernel killed one of its processes because of the memory limit. */
  readonly outOfMemory: boolean;
  /** Whether it was killed because its working directory grew beyond its limit. */
  readonly outOfDisk: boolean;
  /** Content of the file that `HEDDLE_RESULT` names; null if it wrote none. */
  readonly result: Buffer | null;
}

export interface CommandRunner {
  readonly tier: CommandTier;
  /**
   * Resolves once all processes have ended and the working directory is removed.
   *
   * @throws Error if the command could not be started, or left a result that is not a file of at most 1 MiB
   */
  run(command: Command, host: CommandHost): Promise<CommandEnd>;
  /** Kills what runs. */
  close(): Promise<void>;
}
