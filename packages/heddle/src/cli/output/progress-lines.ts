import type { BatchProgress, Transition } from './batch-progress.ts';
import type { Output } from '@heddle/base/terminal/output';
import { countsInWords } from './status.ts';
import { duration, printable } from '@heddle/base/terminal/text';

/** Minimum time between two lines, milliseconds. */
const PACE_MS = 1000;
/** Tasks that one line names. */
const NAMED_MAX = 4;

/** Progress without a terminal: a line for each change, at most one a second. */
export class ProgressLines {
  readonly #output: Output;
  readonly #progress: BatchProgress;
  #waiting: Transition[] = [];
  #lastAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | null = null;

  constructor(output: Output, progress: BatchProgress) {
    this.#output = output;
    this.#progress = progress;
  }

  update(transitions: readonly Transition[]): void {
    this.#waiting.push(...transitions);
    if (this.#waiting.length === 0 || this.#cancelTimer !== null) return;
    const { clock } = this.#output;
    const leftMs = this.#lastAt + PACE_MS - clock.monotonic();
    if (leftMs <= 0) this.#write();
    else this.#cancelTimer = clock.after(leftMs, () => this.#write());
  }

  print(line: string): void {
    this.#output.line(line);
  }

  stop(): void {
    if (this.#waiting.length > 0) this.#write();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #write(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const { clock } = this.#output;
    this.#lastAt = clock.monotonic();
    const { ended, total, counts } = this.#progress;
    const elapsed = duration(this.#progress.elapsedMs(clock.now()));
    const news = describe(this.#waiting);
    this.#waiting = [];
    this.#output.line(
      `[${elapsed}] ${ended}/${total} ended (${countsInWords(counts, this.#progress.words)})${news === '' ? '' : `: ${news}`}`,
    );
  }
}

/** Describes the last change of each task; the counts already include tasks reported for the first time. */
function describe(transitions: readonly Transition[]): string {
  const latest = new Map(transitions.flatMap(({ task, from }) => (from === null ? [] : [[task.id, task] as const])));
  const named = [...latest.values()].slice(0, NAMED_MAX).map((task) => {
    const attempt = task.attempt > 1 ? ` (attempt ${task.attempt})` : '';
    return `${printable(task.name)} ${task.status}${attempt}`;
  });
  if (latest.size > NAMED_MAX) named.push(`${latest.size - NAMED_MAX} more`);
  return named.join(', ');
}
