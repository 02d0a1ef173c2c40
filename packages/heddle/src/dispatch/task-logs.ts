import { HeddleError } from '@heddle/base/errors';
import { LineEncoder } from '@heddle/base/log-lines';
import { LogSlabWriter, type SlabLog } from '@heddle/base/log-slab';
import {
  LINE_CHARS_MAX,
  REPORTED_CHARS_MAX,
  type LineLevel,
  type LogChunk,
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
const FLUSH_MS = 500;
/** What keeps text from being a line as it is. */
const UNPRINTABLE = /[\0\r\n]/;
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
  readonly #parts: TaskLogParts;
  #flushes = false;

  constructor(options: TaskLogsOptions) {
    this.#options = options;
    const { clock } = options;
    // One for all logs: most have few lines and a short life.
    this.#parts = {
      now: () => clock.now(),
      encoder: new LineEncoder(),
      slabs: new LogSlabWriter(),
      send: (chunk) => this.#send(chunk),
      onLine: (log) => this.#noteLine(log),
      onClose: (log) => void this.#open.delete(log),
    };
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
    return new TaskLog(attempt, this.#parts);
  }

  #noteLine(log: TaskLog): void {
    this.#open.add(log);
    if (this.#flushes) return;
    this.#flushes = true;
    this.#options.clock.after(FLUSH_MS, () => this.#flush());
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
      this.#options.log.error({ err: error, task_id, attempt, lines }, 'log lines of a task were dropped');
      return true;
    }
  }
}

interface TaskLogParts {
  now: () => number;
  encoder: LineEncoder;
  slabs: LogSlabWriter;
  send: (chunk: LogChunk) => Promise<boolean>;
  /** Called when there is something to send. */
  onLine: (log: TaskLog) => void;
  onClose: (log: TaskLog) => void;
}

interface Chunk {
  firstLine: number;
  /** Number of its lines. */
  lines: number;
  /** The lines, encoded. */
  text: string;
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
  #chunks: Chunk[] = [];
  #waitingChars = 0;
  /** `onLine` was called since the last flush. */
  #noted = false;
  #sending: Promise<void> | null = null;

  constructor(attempt: CheckedTask, parts: TaskLogParts) {
    this.#attempt = attempt;
    this.#parts = parts;
  }

  /** Adds text; each of its lines becomes one or more lines of the log. */
  add(stream: LogStream, level: LineLevel | null, text: string): void {
    const { now, encoder } = this.#parts;
    const at = now();
    if (text.length <= LINE_CHARS_MAX && !UNPRINTABLE.test(text)) {
      this.#push(encoder.encode(at, stream, level, text));
    } else {
      for (const line of printableLines(text)) this.#push(encoder.encode(at, stream, level, line));
    }
    if (this.#noted) return;
    this.#noted = true;
    this.#parts.onLine(this);
  }

  #push(line: string): void {
    const last = this.#chunks.at(-1);
    const fits = last !== undefined && last.text.length + line.length <= CHUNK_CHARS;
    const chunk = fits ? last : this.#newChunk(last);
    chunk.lines += 1;
    chunk.text += line;
    this.#waitingChars += line.length;
    if (this.#waitingChars > WAITING_CHARS_MAX) this.#dropMiddle();
  }

  #newChunk(last: Chunk | undefined): Chunk {
    const firstLine = last === undefined ? 0 : last.firstLine + last.lines;
    const startChar = last === undefined ? 0 : last.startChar + last.text.length;
    const chunk = { firstLine, lines: 0, text: '', startChar, stored: 0 };
    if (last === undefined) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
    return chunk;
  }

  /** Drops the oldest lines that are not among the first ones. */
  #dropMiddle(): void {
    const index = this.#chunks.findIndex(({ startChar }, at) => startChar >= FIRST_CHARS && at > 0);
    if (index < 0 || index === this.#chunks.length - 1) return;
    const [dropped] = this.#chunks.splice(index, 1);
    this.#waitingChars -= dropped!.text.length;
  }

  /**
   * Returns all lines, if none has been sent yet and they are few enough to travel with the report of the attempt; else
   * null. They then count as stored.
   */
  take(): SlabLog | null {
    const [chunk] = this.#chunks;
    if (this.#chunks.length !== 1 || this.#sending !== null) return null;
    if (chunk!.stored > 0 || chunk!.text.length > REPORTED_CHARS_MAX) return null;
    this.#noted = false;
    this.#parts.onClose(this);
    this.#waitingChars = 0;
    const { lines, text } = chunk!;
    // A handler may log after its end: such lines continue the numbers.
    chunk!.firstLine = lines;
    chunk!.lines = 0;
    chunk!.text = '';
    const { task_id, attempt } = this.#attempt;
    return this.#parts.slabs.write(task_id, attempt, { lines, text });
  }

  /** Resolves when all lines added so far are stored. */
  async flush(): Promise<void> {
    this.#noted = false;
    while (this.#sending !== null) await this.#sending;
    this.#sending = this.#sendAll().finally(() => (this.#sending = null));
    await this.#sending;
  }

  /** Resolves when all lines are stored. */
  async close(): Promise<void> {
    this.#parts.onClose(this);
    await this.flush();
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      const unsent = this.#chunks.filter(({ lines, stored }) => lines > stored);
      if (unsent.length === 0) return;
      await Promise.all(unsent.map((chunk) => this.#sendChunk(chunk)));
      // Only the last chunk can grow.
      const over = this.#chunks.slice(0, -1).filter(({ lines, stored }) => lines === stored);
      for (const chunk of over) this.#chunks.splice(this.#chunks.indexOf(chunk), 1);
      this.#waitingChars = this.#chunks.reduce((sum, { text }) => sum + text.length, 0);
    }
  }

  async #sendChunk(chunk: Chunk): Promise<void> {
    const { firstLine: first_line, lines, text } = chunk;
    if (await this.#parts.send({ ...this.#attempt, first_line, lines, text })) chunk.stored = lines;
  }
}

/** Splits text into lines without NUL, which PostgreSQL and terminals cannot hold, and carriage returns of progress bars. */
function printableLines(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const printable = line.replaceAll('\0', '\ufffd').replaceAll('\r', ' ');
    const parts = Math.max(1, Math.ceil(printable.length / LINE_CHARS_MAX));
    return Array.from({ length: parts }, (_, part) =>
      printable.slice(part * LINE_CHARS_MAX, (part + 1) * LINE_CHARS_MAX),
    );
  });
}
