/** Where a line of a task's log comes from: a command's outputs, or `context.log`. */
export const LOG_STREAMS = ['stdout', 'stderr', 'log'] as const;
export type LogStream = (typeof LOG_STREAMS)[number];

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LineLevel = (typeof LOG_LEVELS)[number];

/** Characters of one line; what is longer is split. */
export const LINE_CHARS_MAX = 8_192;

/** Characters of an attempt's encoded lines up to which they may travel with its report (`AttemptLog`). */
export const REPORTED_CHARS_MAX = 4_096;

/** One line of what an attempt logged. */
export interface LogLine {
  /** Milliseconds since the epoch. */
  at: number;
  stream: LogStream;
  /** Of `context.log`; null for output of a command. */
  level: LineLevel | null;
  /** Without a line break. */
  text: string;
}

/** Lines as they are stored: `log-lines.ts` encodes and decodes them. */
export interface EncodedLines {
  /** How many there are. */
  lines: number;
  text: string;
}

/** Consecutive lines of one attempt. */
export interface LogChunk extends EncodedLines {
  task_id: string;
  attempt: number;
  /** Number of its first line, from 0. A chunk with the same number and more lines replaces it. */
  first_line: number;
}

/** A part of what an attempt logged. */
export interface LogPage {
  attempt: number;
  lines: (LogLine & { number: number })[];
  /** The number to continue with. */
  next: number;
}
