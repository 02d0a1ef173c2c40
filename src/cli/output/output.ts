import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

import type { Clock } from '../../app/clock.ts';

/** A stream to write to; `isTTY` and `columns` where it is a terminal. */
export type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };

export type Style = Parameters<typeof styleText>[0];

export interface OutputOptions {
  stdout: OutputStream;
  stderr: OutputStream;
  /** One JSON document, or one a line, on standard output; nothing else there. */
  json: boolean;
  clock: Clock;
}

/** Where a command's results and messages go. */
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

  /** Whether people watch standard output on a terminal. */
  get live(): boolean {
    return !this.json && this.stdout.isTTY === true;
  }

  /** Columns to fit lines into; null where lines may be as long as they are. */
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

  /** What was asked for: the document with `--json`, else what `render` writes. */
  result(value: unknown, render: () => void): void {
    if (this.json) this.document(value);
    else render();
  }

  /** A message beside the result, on standard error. */
  notice(text: string): void {
    if (this.#noticeSink !== null) this.#noticeSink(text);
    else this.stderr.write(`${text}\n`);
  }

  /** While a display owns the terminal, notices go through it. */
  sendNoticesTo(sink: ((line: string) => void) | null): void {
    this.#noticeSink = sink;
  }

  /** Coloured where the stream is a terminal and NO_COLOR is not set. */
  paint(style: Style, text: string): string {
    return styleText(style, text, { stream: this.stdout });
  }

  paintError(style: Style, text: string): string {
    return styleText(style, text, { stream: this.stderr });
  }
}
