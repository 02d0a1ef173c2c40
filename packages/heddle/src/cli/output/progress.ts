import type { HeddleClient } from '@heddle/client';
import { BatchProgress, type Followed, type FollowedTask, type Transition } from './batch-progress.ts';
import type { Output } from '@heddle/base/terminal/output';
import { ProgressBars } from './progress-bars.ts';
import { ProgressLines } from './progress-lines.ts';
import { BATCH_WORDS, countsInWords, STATUS_LOOKS, type StatusCounts, type Vocabulary } from './status.ts';
import { count, duration, printable } from '@heddle/base/terminal/text';

export interface WatchOptions {
  output: Output;
  /** Stops following; the batch continues. */
  signal?: AbortSignal;
  /** Receives a function that writes lines while the display owns the terminal. */
  onPrinter?: (print: (line: string) => void) => void;
}

export interface WatchResult {
  batch: Followed;
  by_status: StatusCounts;
  /** False if following was stopped before the last task ended. */
  ended: boolean;
  /** Whether every task succeeded. */
  succeeded: boolean;
}

export interface Display {
  update(transitions: readonly Transition[]): void;
  print(line: string): void;
  stop(): void;
}

/** Failed tasks listed at the end of a display. */
const FAILURES_SHOWN = 10;

/**
 * Follows a batch to completion and shows it: bars on a terminal, plain lines elsewhere, with `--json` one document for
 * each change and one for the end. Throws what the client throws.
 */
export async function watchBatch(client: HeddleClient, batchId: string, options: WatchOptions): Promise<WatchResult> {
  const { output, signal } = options;
  // Requested first, so that a missing batch or an unreachable server is reported at once.
  const progress = new BatchProgress(await client.getBatch(batchId));
  const display = displayFor(output, progress);
  options.onPrinter?.((line) => display.print(line));
  try {
    for await (const event of client.watchBatch(batchId, signal)) {
      const transitions = progress.apply(event);
      if (output.json) writeEvent(output, event.type, event.tasks, progress);
      else display.update(transitions);
    }
  } finally {
    display.stop();
  }
  const { batch, counts, succeeded } = progress;
  const result = { batch, by_status: counts, ended: batch.remaining === 0, succeeded };
  if (!output.json) writeSummary(output, progress);
  return result;
}

/** Bars on a terminal, plain lines elsewhere, nothing with JSON. */
export function displayFor(output: Output, progress: BatchProgress): Display {
  if (output.live) return new ProgressBars(output, progress);
  if (!output.json) return new ProgressLines(output, progress);
  return { update: () => undefined, print: (line) => output.notice(line), stop: () => undefined };
}

function writeEvent(output: Output, event: 'change' | 'end', tasks: unknown, progress: BatchProgress): void {
  const { batch, counts, succeeded } = progress;
  if (event === 'change') output.document({ event, batch, by_status: counts, tasks });
  else output.document({ event, batch, by_status: counts, succeeded });
}

function writeSummary(output: Output, progress: BatchProgress): void {
  const { batch, counts, succeeded, total, ended } = progress;
  const elapsed = duration(progress.elapsedMs(output.clock.now()));
  const name = batch.name === null ? `batch ${batch.id}` : printable(batch.name);
  if (batch.remaining > 0) {
    output.line(`${name}: ${ended} of ${count(total, 'task')} ended after ${elapsed}; no longer watching`);
    return;
  }
  if (succeeded) {
    const { symbol, style } = STATUS_LOOKS.Success;
    const all = total === 1 ? 'its task' : `all ${total} tasks`;
    output.line(`${output.paint(style, symbol)} ${name}: ${all} succeeded in ${elapsed}`);
    return;
  }
  output.line(`${output.paint('red', '✖')} ${name}: ended in ${elapsed} with ${countsInWords(counts, BATCH_WORDS)}`);
  writeUnsuccessful(output, progress, `heddle task list --batch ${batch.id} --status Failure`);
}

/** Lists tasks that did not succeed, with their reasons; `command` shows the rest. */
export function writeUnsuccessful(output: Output, { unsuccessful, words }: BatchProgress, command: string): void {
  for (const task of unsuccessful.slice(0, FAILURES_SHOWN)) output.line(`  ${lineOf(output, task, words)}`);
  const more = unsuccessful.length - FAILURES_SHOWN;
  if (more > 0) output.line(`  and ${more} more; list them with: ${command}`);
}

function lineOf(output: Output, { id, name, status, failure_reason }: FollowedTask, { looks }: Vocabulary): string {
  const { symbol, style } = looks[status]!;
  const reason = failure_reason === null ? '' : `: ${printable(failure_reason)}`;
  return `${output.paint(style, `${symbol} ${status}`)} ${printable(name)} (${id})${reason}`;
}
