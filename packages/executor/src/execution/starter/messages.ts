/** JSON frames between the executor and the starter process. */
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
  /** Prefix of each connection, followed by the digit of its stream. */
  readonly token: string;
  /** Number of streams: standard input, output, error, and optionally one for frames. */
  readonly streams: number;
  /** Files opened for reading, on the descriptors after the streams. */
  readonly files: readonly string[];
  /** Whether it starts at low priority. */
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

/** Hexadecimal characters of a token. */
export const TOKEN_LENGTH = 32;

/** Confirmation of each accepted connection; the process starts only after all are confirmed. */
export const TAKEN = '+';
