import cliProgress from 'cli-progress';

import type { BatchProgress, FollowedTask } from './batch-progress.ts';
import type { Output } from '@heddle/base/terminal/output';
import { count, cut, displayWidth, duration, pad, printable } from '@heddle/base/terminal/text';

/** Running tasks that are shown by name. */
const RUNNING_LINES = 6;
const BAR_COLUMNS = 28;
const TASK_BAR_COLUMNS = 16;
const TASK_NAME_COLUMNS = 34;
const FRAMES_PER_SECOND = 10;

/** Progress on a terminal: the batch's bar, its tasks by status, and running tasks, redrawn in place. */
export class ProgressBars {
  readonly #output: Output;
  readonly #progress: BatchProgress;
  readonly #bars: cliProgress.MultiBar;

  constructor(output: Output, progress: BatchProgress) {
    this.#output = output;
    this.#progress = progress;
    this.#bars = new cliProgress.MultiBar({
      stream: output.stdout,
      fps: FRAMES_PER_SECOND,
      hideCursor: true,
      clearOnComplete: true,
      // A line printed above moves the others down, so unchanged lines must be redrawn, too.
      forceRedraw: true,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: BAR_COLUMNS,
    });
    const lines = [() => this.#batchLine(), () => this.#countsLine()];
    for (let index = 0; index < this.#slots; index += 1) lines.push(() => this.#runningLine(index));
    for (const line of lines) this.#bars.create(1, 0, {}, { format: line });
    output.sendNoticesTo((text) => this.print(text));
  }

  /** A low terminal shows fewer tasks: lines that scroll away cannot be redrawn. */
  get #slots(): number {
    return Math.max(1, Math.min(RUNNING_LINES, (this.#output.stdout.rows ?? 24) - 4));
  }

  get #columns(): number {
    return this.#output.columns ?? 80;
  }

  /** The lines are drawn from the followed state, so nothing has to be passed. */
  update(): void {
    this.#output.sendNoticesTo((text) => this.print(text));
  }

  /** Writes a line above the bars. */
  print(line: string): void {
    this.#bars.log(`${line}\n`);
  }

  stop(): void {
    this.#output.sendNoticesTo(null);
    // The next redraw writes the lines printed meanwhile and removes the bars.
    this.#bars.update();
    this.#bars.stop();
  }

  #batchLine(): string {
    const { total, ended, batch, words } = this.#progress;
    const percent = total === 0 ? 100 : Math.floor((100 * ended) / total);
    const elapsed = duration(this.#progress.elapsedMs(this.#output.clock.now()));
    const tail = ` ${ended}/${total} ${percent}% ${elapsed}`;
    const name = cut(printable(batch.name ?? words.noun), Math.max(5, this.#columns - BAR_COLUMNS - tail.length - 1));
    return `${this.#output.paint('bold', name)} ${this.#bar(ended, total, BAR_COLUMNS, 'green')}${tail}`;
  }

  #countsLine(): string {
    const { counts, words } = this.#progress;
    let left = this.#columns;
    const shown: string[] = [];
    for (const [status, { symbol, style }] of Object.entries(words.looks)) {
      const number = counts[status] ?? 0;
      if (number === 0) continue;
      const text = `${symbol} ${number} ${status}`;
      if ((left -= displayWidth(text) + 2) < 0) break;
      shown.push(this.#output.paint(style, text));
    }
    return shown.join('  ');
  }

  #runningLine(index: number): string {
    const { running, words } = this.#progress;
    const task = running[index];
    if (task === undefined) return '';
    const hidden = running.length - index;
    if (index === this.#slots - 1 && hidden > 1) return `  and ${count(hidden, 'more task')} running`;
    const { symbol, style } = words.looks[task.status]!;
    const nameColumns = Math.min(TASK_NAME_COLUMNS, this.#columns - 34);
    const name = pad(cut(printable(task.name), nameColumns), nameColumns);
    return `  ${this.#output.paint(style, symbol)} ${name} ${this.#taskTail(task)}`;
  }

  #taskTail(task: FollowedTask): string {
    const { success, failures, expected_count, attempt, started_at } = task;
    const done = success + failures;
    const elapsed = started_at === null ? '' : duration(this.#output.clock.now() - Date.parse(started_at));
    const again = attempt > 1 ? ` attempt ${attempt}` : '';
    if (expected_count === null || expected_count === 0) return `${done > 0 ? `${done} done ` : ''}${elapsed}${again}`;
    const room = this.#columns - TASK_NAME_COLUMNS - 4;
    const tail = `${done}/${expected_count} ${elapsed}${again}`;
    const size = Math.min(TASK_BAR_COLUMNS, room - tail.length - 2);
    if (size < 4) return cut(tail, Math.max(0, room));
    return `${this.#bar(done, expected_count, size, 'cyan')} ${tail}`;
  }

  #bar(value: number, total: number, columns: number, style: 'green' | 'cyan'): string {
    const share = total === 0 ? 1 : Math.min(1, value / total);
    // Full only when everything has completed.
    const filled = share === 1 ? columns : Math.min(columns - 1, Math.round(share * columns));
    return `${this.#output.paint(style, '█'.repeat(filled))}${this.#output.paint('gray', '░'.repeat(columns - filled))}`;
  }
}
