import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

import type { Clock } from '../clock.ts';

/** A stream to write to; `isTTY` and `columns` if it is a terminal. */
export type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };

export type Style = Parameters<typeof styleText>[0];

export interface OutputOptions {
  stdout: OutputStream;
  stderr: OutputStream;
  /** Print only JSON on standard output: one document, or one per line. */
  json: boolean;
  clock: Clock;
}

/** Destination of a command's results and messages. */
export class Output {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly json: boolean;
  readonly clock: Clock;
  #noticeSink: ((line: string) => void) | null = null;

  constructor({ stdout, stderr, json, clock }: OutputOptions) {
    this.stdout = stdout;
    this.stderr = stderr;
    this.json = json;
    this.clock = clock;
  }

  /** Whether standard output is a terminal. */
  get live(): boolean {
    return !this.json && this.stdout.isTTY === true;
  }

  /** Columns available for lines; null if lines are unlimited. */
  get columns(): number | null {
    return this.stdout.isTTY === true ? Math.max(40, this.stdout.columns ?? 80) : null;
  }

  line(text = ''): void {
    this.stdout.write(`${text}\n`);
  }

  /** One JSON document on one line. */
  document(value: unknown): void {
    this.stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** Writes the document with `--json`, else calls `render`. */
  result(value: unknown, render: () => void): void {
    if (this.json) this.document(value);
    else render();
  }

  /** Writes a message beside the result, on standard error. */
  notice(text: string): void {
    if (this.#noticeSink !== null) this.#noticeSink(text);
    else this.stderr.write(`${text}\n`);
  }

  /** Sends notices through a display that owns the terminal. */
  sendNoticesTo(sink: ((line: string) => void) | null): void {
    this.#noticeSink = sink;
  }

  /** Colored if the stream is a terminal and NO_COLOR is not set. */
  paint(style: Style, text: string): string {
    return styleText(style, text, { stream: this.stdout });
  }

  paintError(style: Style, text: string): string {
    return styleText(style, text, { stream: this.stderr });
  }
}
