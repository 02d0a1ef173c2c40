import cliProgress from 'cli-progress';

import type { ScanProgress } from '../../app/scan/request.ts';
import type { Clock } from '../../app/clock.ts';
import type { OutputStream } from './output.ts';
import { cut, duration, printable } from './text.ts';

const FRAMES_PER_SECOND = 8;
/** Where nobody sees a terminal: time between two lines. A scan that is over before says nothing. */
const LINE_INTERVAL_MS = 10_000;

/** How far a scan is, on standard error. */
export interface ScanDisplay {
  update(progress: ScanProgress): void;
  /** Writes text to standard output, above what is redrawn where both are one terminal. */
  print(text: string): void;
  /** Writes a line to standard error. */
  notice(line: string): void;
  stop(): void;
}

export interface ScanDisplayOptions {
  stdout: OutputStream;
  stderr: OutputStream;
  clock: Clock;
  enabled: boolean;
}

/** Redrawn in place on a terminal, a line from time to time elsewhere, nothing where it is switched off. */
export function scanDisplayFor({ stdout, stderr, clock, enabled }: ScanDisplayOptions): ScanDisplay {
  const plain = {
    print: (text: string): void => void stdout.write(text),
    notice: (line: string): void => void stderr.write(`${line}\n`),
  };
  if (!enabled) return { ...plain, update: () => undefined, stop: () => undefined };
  if (stderr.isTTY === true) return new RedrawnProgress(stdout, stderr, clock);
  const lines = new ProgressLines(plain.notice, clock);
  return { ...plain, update: (progress) => lines.update(progress), stop: () => undefined };
}

/** `1,204 of 20,000 objects, 12.3 MB at 340 MB/s, 2 findings`. */
export function progressText(progress: ScanProgress, elapsedMs: number): string {
  const { objects_discovered, objects_completed, bytes_scanned, findings, problems, discovery_done } = progress;
  const share = discovery_done
    ? `${grouped(objects_completed)} of ${grouped(Math.max(objects_discovered, objects_completed))} objects`
    : `${grouped(objects_completed)} objects, ${grouped(objects_discovered)} found so far`;
  const megabytes = bytes_scanned / 1e6;
  const rate = elapsedMs <= 0 ? 0 : (megabytes * 1000) / elapsedMs;
  const parts = [share, `${megabytes.toFixed(1)} MB at ${rate.toFixed(0)} MB/s`, `${grouped(findings)} findings`];
  if (problems > 0) parts.push(`${grouped(problems)} problems`);
  return parts.join(', ');
}

function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}

class ProgressLines {
  readonly #write: (line: string) => void;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #lastAt: number;

  constructor(write: (line: string) => void, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#lastAt = this.#startedAt;
  }

  update(progress: ScanProgress): void {
    const now = this.#clock.monotonic();
    if (now - this.#lastAt < LINE_INTERVAL_MS) return;
    this.#lastAt = now;
    const elapsedMs = now - this.#startedAt;
    this.#write(`[${duration(elapsedMs)}] ${progressText(progress, elapsedMs)}`);
  }
}

class RedrawnProgress implements ScanDisplay {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #bars: cliProgress.MultiBar | null = null;
  #progress: ScanProgress | null = null;
  #stopped = false;

  constructor(stdout: OutputStream, stderr: OutputStream, clock: Clock) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  update(progress: ScanProgress): void {
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
    // What was printed meanwhile is written by a last redraw; the lines themselves go.
    this.#bars?.update();
    this.#bars?.stop();
    this.#bars = null;
  }

  #draw(): cliProgress.MultiBar {
    const bars = new cliProgress.MultiBar({
      stream: this.#stderr,
      fps: FRAMES_PER_SECOND,
      hideCursor: true,
      clearOnComplete: true,
      forceRedraw: true,
      // Ctrl-C is for the scan to handle; it takes the display away itself.
      gracefulExit: false,
    });
    bars.create(1, 0, {}, { format: () => this.#countsLine() });
    bars.create(1, 0, {}, { format: () => this.#currentLine() });
    return bars;
  }

  get #columns(): number {
    // Some terminals say 0 where they do not know.
    return Math.max(20, (this.#stderr.columns || 80) - 1);
  }

  #countsLine(): string {
    const elapsedMs = this.#clock.monotonic() - this.#startedAt;
    return cut(`${duration(elapsedMs)}  ${progressText(this.#progress!, elapsedMs)}`, this.#columns);
  }

  #currentLine(): string {
    const { current, discovery_done } = this.#progress!;
    return cut(`  ${printable(current ?? (discovery_done ? '' : 'looking for what is to be scanned'))}`, this.#columns);
  }
}
