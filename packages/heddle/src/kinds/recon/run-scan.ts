import type { ModelBooks } from '@heddle/core/engine/port';
import type { ProbeEnvironment, ProbeProgress } from '@heddle/recon/options';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { type KindContext, type KindTask, PartialFailure } from '@heddle/kit';
import { SkippedTargets } from './skipped-targets.ts';
import type { ReconPolicy } from './policy.ts';
import type { ProbeSettings } from './probe-input.ts';
import { RecordCollector } from './record-collector.ts';
import { asJson, storableText, type ScanResult } from './task-result.ts';

export type WatchAttempt = (task: KindTask, onOver: () => void) => () => void;

/** Options shared by the scanning kinds of a process. */
export interface ScanKindOptions {
  policy: ReconPolicy;
  /** Stores records that exceed a result; null for a worker without a database. */
  books: Pick<ModelBooks, 'putChunk'> | null;
  clock: Clock;
  random: Random;
  /** Concurrent tasks of the kind in this process. */
  concurrency: number;
  /**
   * Watches an attempt if that is faster than its signal: `onOver` is called when it ends. Returns a function that
   * stops watching.
   */
  watch?: WatchAttempt;
}

/** One scan. */
export interface Scanning<Record> {
  options: ScanKindOptions;
  settings: ProbeSettings;
  context: KindContext;
  /** Starts the probe. */
  start: (environment: ProbeEnvironment, skippedTargets: SkippedTargets) => AsyncIterable<Record>;
  /** Returns the key under which a record is counted, and whether it is kept. */
  judge: (record: Record, skippedTargets: SkippedTargets) => { count: string; keep: boolean };
}

const COUNTS_EVERY_MS = 1000;
const LIFE_EVERY_MS = 15_000;
const NOTICES_MAX = 20;

/**
 * Runs one scan as an attempt of its task: keeps its records, reports progress and what it left out.
 *
 * @throws PartialFailure with the result if something was left out; the signal's reason when it aborts
 */
export async function runScan<Record extends object>(scanning: Scanning<Record>) {
  const { options, settings, context, start, judge } = scanning;
  const { task } = context;
  const over = new AbortController();
  const signal = AbortSignal.any([context.signal, over.signal]);
  const unwatch = options.watch?.(task, () => over.abort(new Error('the task has ended')));
  const { clock, random, policy } = options;
  const begun = clock.monotonic();
  const skippedTargets = new SkippedTargets();
  const notices: string[] = [];
  const progressReporter = new ProgressReporter(context, clock);
  const collector = new RecordCollector({ books: options.books, task_id: task.id, attempt: task.attempt });
  const counts: { [name: string]: number } = {};
  const environment: ProbeEnvironment = {
    clock,
    random,
    signal,
    pace: policy.paceOf(settings),
    onProgress: (progress) => progressReporter.update(progress),
    onNotice: (notice) => {
      if (notices.length < NOTICES_MAX) notices.push(storableText(notice));
    },
  };
  try {
    for await (const record of start(environment, skippedTargets)) {
      const { count, keep } = judge(record, skippedTargets);
      counts[count] = (counts[count] ?? 0) + 1;
      if (keep) await collector.take(record);
    }
  } finally {
    unwatch?.();
  }
  signal.throwIfAborted();
  await progressReporter.end();
  const { records, chunks } = await collector.end();
  const isWhole = skippedTargets.count === 0 && collector.lost === 0;
  const result: ScanResult = {
    outcome: isWhole ? 'complete' : 'incomplete',
    records,
    record_count: collector.count,
    chunks,
    attempt: task.attempt,
    records_lost: collector.lost,
    settled: progressReporter.last.done,
    sent: progressReporter.last.sent,
    counts,
    skipped_count: skippedTargets.count,
    skipped: skippedTargets.first,
    unresolved: skippedTargets.unresolved,
    notices,
    duration_ms: Math.round(clock.monotonic() - begun),
  };
  if (isWhole) return asJson(result);
  throw new PartialFailure(reasonOf(result), { result: asJson(result) });
}

function reasonOf({ skipped_count, skipped, records_lost }: ScanResult): string {
  const reasons: string[] = [];
  const [first] = skipped;
  if (first !== undefined) {
    const more = skipped_count > 1 ? `, and ${skipped_count - 1} more` : '';
    reasons.push(`not scanned: ${first.target}: ${first.reason}${more}`);
  }
  if (records_lost > 0) {
    reasons.push(`${records_lost} records did not fit into the result, and this worker has no database for more`);
  }
  return reasons.join('; ');
}

/** Reports the number of settled targets periodically, even if unchanged, since silent networks take time. */
class ProgressReporter {
  readonly #context: KindContext;
  readonly #clock: Clock;
  last: ProbeProgress = { done: 0, total: 0, sent: 0, found: 0 };
  #reported = 0;
  #reportedAt: number;

  constructor(context: KindContext, clock: Clock) {
    this.#context = context;
    this.#clock = clock;
    this.#reportedAt = clock.monotonic();
  }

  update(progress: ProbeProgress): void {
    this.last = progress;
    const now = this.#clock.monotonic();
    const done = progress.done - this.#reported;
    if (now - this.#reportedAt < (done > 0 ? COUNTS_EVERY_MS : LIFE_EVERY_MS)) return;
    this.#reportedAt = now;
    this.#reported = progress.done;
    const { log, progress: report } = this.#context;
    report(done).catch((error: unknown) => log.debug({ err: error }, 'progress report failed'));
  }

  async end(): Promise<void> {
    const { done } = this.last;
    if (done > this.#reported) await this.#context.progress(done - this.#reported);
    this.#reported = done;
  }
}
