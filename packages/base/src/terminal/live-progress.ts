import { createRequire } from 'node:module';

import type * as CliProgress from 'cli-progress';

import type { Clock } from '../clock.ts';
import type { OutputStream } from './output.ts';
import { cut, duration } from './text.ts';

/** Loaded only if there is a terminal to draw on. */
const load = createRequire(import.meta.url);

const FRAMES_PER_SECOND = 8;
/** Interval between two lines without a terminal; shorter operations print nothing. */
const LINE_INTERVAL_MS = 10_000;

/** A progress display on standard error. */
export interface LiveDisplay<Progress> {
  update(progress: Progress): void;
  /** Writes to standard output, above the redrawn lines if both are the same terminal. */
  print(text: string): void;
  /** Writes a line to standard error. */
  notice(line: string): void;
  stop(): void;
}

export interface LiveDisplayOptions {
  stdout: OutputStream;
  stderr: OutputStream;
  clock: Clock;
  enabled: boolean;
}

/** The strings of a progress display. */
export interface ProgressTexts<Progress> {
  counts: (progress: Progress, elapsedMs: number) => string;
  /** A second line on a terminal: the current item. */
  current?: (progress: Progress) => string;
}

/** Redraws in place on a terminal, prints a line from time to time elsewhere, and nothing if disabled. */
export function displayFor<Progress>(
  options: LiveDisplayOptions,
  texts: ProgressTexts<Progress>,
): LiveDisplay<Progress> {
  const { stdout, stderr, clock, enabled } = options;
  const plain = {
    print: (text: string): void => void stdout.write(text),
    notice: (line: string): void => void stderr.write(`${line}\n`),
  };
  if (!enabled) return { ...plain, update: () => undefined, stop: () => undefined };
  if (stderr.isTTY === true) return new RedrawnProgress(options, texts);
  const lines = new ProgressLines(plain.notice, clock, texts);
  return { ...plain, update: (progress) => lines.update(progress), stop: () => undefined };
}

/** `1,204`. */
export function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}

class ProgressLines<Progress> {
  readonly #write: (line: string) => void;
  readonly #texts: ProgressTexts<Progress>;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #lastAt: number;

  constructor(write: (line: string) => void, clock: Clock, texts: ProgressTexts<Progress>) {
    this.#write = write;
    this.#texts = texts;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#lastAt = this.#startedAt;
  }

  update(progress: Progress): void {
    const now = this.#clock.monotonic();
    if (now - this.#lastAt < LINE_INTERVAL_MS) return;
    this.#lastAt = now;
    const elapsedMs = now - this.#startedAt;
    this.#write(`[${duration(elapsedMs)}] ${this.#texts.counts(progress, elapsedMs)}`);
  }
}

class RedrawnProgress<Progress> implements LiveDisplay<Progress> {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #clock: Clock;
  readonly #texts: ProgressTexts<Progress>;
  readonly #startedAt: number;
  #bars: CliProgress.MultiBar | null = null;
  #progress: Progress | null = null;
  #stopped = false;

  constructor({ stdout, stderr, clock }: LiveDisplayOptions, texts: ProgressTexts<Progress>) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#clock = clock;
    this.#texts = texts;
    this.#startedAt = clock.monotonic();
  }

  update(progress: Progress): void {
    this.#progress = progress;
    if (this.#bars === null && !this.#stopped) this.#bars = this.#draw();
  }

  print(text: string): void {
    if (this.#bars === null || this.#stdout.isTTY !== true) this.#stdout.write(text);
    else this.#bars.log(text);
  }

  notice(line: string): void {
    if (this.#bars === null) this.#stderr.write(`${line}\n`);
    else this.#bars.log(`${line}\n`);
  }

  stop(): void {
    this.#stopped = true;
    // A last redraw writes the lines printed meanwhile and removes the progress itself.
    this.#bars?.update();
    this.#bars?.stop();
    this.#bars = null;
  }

  #draw(): CliProgress.MultiBar {
    const { MultiBar } = load('cli-progress') as typeof CliProgress;
    const bars = new MultiBar({
      stream: this.#stderr,
      fps: FRAMES_PER_SECOND,
      hideCursor: true,
      clearOnComplete: true,
      forceRedraw: true,
      // The command handles Ctrl-C and removes the display itself.
      gracefulExit: false,
    });
    bars.create(1, 0, {}, { format: () => this.#countsLine() });
    if (this.#texts.current !== undefined) bars.create(1, 0, {}, { format: () => this.#currentLine() });
    return bars;
  }

  get #columns(): number {
    // Some terminals report 0 if they do not know their width.
    return Math.max(20, (this.#stderr.columns || 80) - 1);
  }

  #countsLine(): string {
    const elapsedMs = this.#clock.monotonic() - this.#startedAt;
    return cut(`${duration(elapsedMs)}  ${this.#texts.counts(this.#progress!, elapsedMs)}`, this.#columns);
  }

  #currentLine(): string {
    return cut(`  ${this.#texts.current!(this.#progress!)}`, this.#columns);
  }
}
