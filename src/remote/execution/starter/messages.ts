/** What passes between the executor and the process that starts others for it, in frames of JSON. */
export const ORDER = {
  start: 0x53,
  kill: 0x4b,
} as const;

export const NOTE = {
  started: 0x50,
  failed: 0x46,
  exited: 0x45,
} as const;

export interface StartOrder {
  readonly id: number;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly user: number | null;
  /** The first bytes of each of its connections, before the digit that tells which of its streams it is. */
  readonly token: string;
  /** Standard input, output, error, and one for answers where it has four. */
  readonly streams: number;
  /** Files that it gets open for reading, behind its streams. */
  readonly files: readonly string[];
  /** Whether it leaves the processor to others from its first moment on. */
  readonly behind: boolean;
}

export interface KillOrder {
  readonly id: number;
}

export interface StartedNote {
  readonly id: number;
  readonly pid: number;
}

export interface FailedNote {
  readonly id: number;
  readonly message: string;
}

export interface ExitedNote {
  readonly id: number;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Random characters of a token. */
export const TOKEN_LENGTH = 32;

/** What the executor answers to each connection that it has taken: the process is not started before. */
export const TAKEN = '+';
