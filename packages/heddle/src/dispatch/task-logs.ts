import { HeddleError } from '@heddle/base/errors';
import {
  LINE_CHARS_MAX,
  type LineLevel,
  type LogChunk,
  type LogLine,
  type LogStream,
} from '@heddle/base/vocabulary/task-log';
import type { Clock } from '@heddle/base/clock';
import { Coalescer } from '@heddle/base/coalescer';
import type { Logger } from '@heddle/base/log';
import type { CheckedTask } from './task-control.ts';

/** Characters after which the next line begins a new chunk; the last chunk of an attempt is sent again as it grows. */
const CHUNK_CHARS = 16 * 1024;
/** Characters of an attempt's lines that wait in memory while they cannot be stored. */
const WAITING_CHARS_MAX = 1024 * 1024;
/** The part of them that is kept from the beginning. */
const FIRST_CHARS = WAITING_CHARS_MAX / 4;
/** Counted for a line besides its text, so that empty ones have a bound too. */
const LINE_CHARS = 10;
const FLUSH_MS = 500;
const UNPRINTABLE = /[\0\r]/;
const RETRY_MS = 1_000;
const SET_MAX = 1_000;
const WAITING_MAX = 100_000;

export interface TaskLogsOptions {
  /** Stores chunks; an error with `retryable` is repeated. */
  store: (chunks: readonly LogChunk[]) => Promise<void>;
  clock: Clock;
  log: Logger;
}

/**
 * What the tasks of one worker log: lines are stored every half second, and all of them before a task's end is
 * reported. A chunk is repeated until it is stored, so that a line is neither lost nor stored twice.
 */
export class TaskLogs {
  readonly #options: TaskLogsOptions;
  readonly #chunks: Coalescer<LogChunk, undefined>;
  readonly #open = new Set<TaskLog>();
  #flushes = false;

  constructor(options: TaskLogsOptions) {
    this.#options = options;
    this.#chunks = new Coalescer({
      flush: async (chunks) => {
        await options.store(chunks);
        return chunks.map(() => undefined);
      },
      maxItems: SET_MAX,
      maxUnderWay: 2,
      maxWaiting: WAITING_MAX,
    });
  }

  open(attempt: CheckedTask): TaskLog {
    const { clock } = this.#options;
    const onLine = (): void => {
      this.#open.add(log);
      if (this.#flushes) return;
      this.#flushes = true;
      clock.after(FLUSH_MS, () => this.#flush());
    };
    const onClose = (): void => void this.#open.delete(log);
    const log: TaskLog = new TaskLog(attempt, {
      now: () => clock.now(),
      send: (chunk) => this.#send(chunk),
      onLine,
      onClose,
    });
    return log;
  }

  #flush(): void {
    this.#flushes = false;
    for (const log of this.#open) void log.flush();
    this.#open.clear();
  }

  /** Resolves with whether it was stored; one that cannot be stored at all is dropped. */
  async #send(chunk: LogChunk): Promise<boolean> {
    try {
      await this.#chunks.add(chunk);
      return true;
    } catch (error) {
      if (error instanceof HeddleError && error.retryable) {
        await this.#options.clock.sleep(RETRY_MS);
        return false;
      }
      const { task_id, attempt, lines } = chunk;
      this.#options.log.error(
        { err: error, task_id, attempt, lines: lines.length },
        'log lines of a task were dropped',
      );
      return true;
    }
  }
}

interface TaskLogParts {
  now: () => number;
  send: (chunk: LogChunk) => Promise<boolean>;
  onLine: () => void;
  onClose: () => void;
}

interface Chunk {
  readonly firstLine: number;
  readonly lines: LogLine[];
  chars: number;
  /** Characters of the lines before it. */
  readonly startChar: number;
  /** How many of its lines are stored. */
  stored: number;
}

/** What one attempt logs. */
export class TaskLog {
  readonly #attempt: CheckedTask;
  readonly #parts: TaskLogParts;
  /** The last one may still grow. */
  readonly #chunks: Chunk[] = [];
  #waitingChars = 0;
  #sending: Promise<void> | null = null;

  constructor(attempt: CheckedTask, parts: TaskLogParts) {
    this.#attempt = attempt;
    this.#parts = parts;
  }

  /** Adds text; each of its lines becomes one or more lines of the log. */
  add(stream: LogStream, level: LineLevel | null, text: string): void {
    const at = this.#parts.now();
    for (const line of text.includes('\n') ? text.split(/\r?\n/) : [text]) {
      for (let start = 0; start === 0 || start < line.length; start += LINE_CHARS_MAX) {
        this.#push({ at, stream, level, text: printableLine(line.slice(start, start + LINE_CHARS_MAX)) });
      }
    }
    this.#parts.onLine();
  }

  #push(line: LogLine): void {
    const last = this.#chunks.at(-1);
    const chars = line.text.length + LINE_CHARS;
    const fits = last !== undefined && last.chars + chars <= CHUNK_CHARS;
    const chunk = fits ? last : this.#newChunk(last);
    chunk.lines.push(line);
    chunk.chars += chars;
    this.#waitingChars += chars;
    if (this.#waitingChars > WAITING_CHARS_MAX) this.#dropMiddle();
  }

  #newChunk(last: Chunk | undefined): Chunk {
    const firstLine = last === undefined ? 0 : last.firstLine + last.lines.length;
    const startChar = last === undefined ? 0 : last.startChar + last.chars;
    const chunk = { firstLine, lines: [], chars: 0, startChar, stored: 0 };
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Drops the oldest lines that are not among the first ones. */
  #dropMiddle(): void {
    const index = this.#chunks.findIndex(({ startChar }, at) => startChar >= FIRST_CHARS && at > 0);
    if (index < 0 || index === this.#chunks.length - 1) return;
    const [dropped] = this.#chunks.splice(index, 1);
    this.#waitingChars -= dropped!.chars;
  }

  /** Resolves when all lines added so far are stored. */
  async flush(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
    this.#sending = this.#sendAll().finally(() => (this.#sending = null));
    await this.#sending;
  }

  /** Resolves when all lines are stored. */
  async close(): Promise<void> {
    this.#parts.onClose();
    await this.flush();
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      const unsent = this.#chunks.filter(({ lines, stored }) => lines.length > stored);
      if (unsent.length === 0) return;
      await Promise.all(unsent.map((chunk) => this.#sendChunk(chunk)));
      // Only the last chunk can grow.
      const over = this.#chunks.slice(0, -1).filter(({ lines, stored }) => lines.length === stored);
      for (const chunk of over) this.#chunks.splice(this.#chunks.indexOf(chunk), 1);
      this.#waitingChars = this.#chunks.reduce((sum, { chars }) => sum + chars, 0);
    }
  }

  async #sendChunk(chunk: Chunk): Promise<void> {
    const { length } = chunk.lines;
    const sent = { ...this.#attempt, first_line: chunk.firstLine, lines: chunk.lines.slice() };
    if (await this.#parts.send(sent)) chunk.stored = length;
  }
}

/** Without NUL, which PostgreSQL and terminals cannot hold in text, and carriage returns of progress bars. */
function printableLine(text: string): string {
  return UNPRINTABLE.test(text) ? text.replaceAll('\0', '\ufffd').replaceAll('\r', ' ') : text;
}
