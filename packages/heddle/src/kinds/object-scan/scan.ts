import type { ScanBooks } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { ScanOptions } from '@heddle/scan/options';
import type { Finding, Problem, ScanProgress, ScanSummary } from '@heddle/scan/result';
import type { VerifyOptions } from '@heddle/scan/verify/options';
import { defineKind, type KindContext, PartialFailure } from '@heddle/kit';
import { ScanCollector } from './collector.ts';
import { SCAN_KIND, scanSchema, type ScanInput } from './input.ts';
import type { ScanRoots } from './roots.ts';
import { ruleTextsOf } from './rule-texts.ts';
import { asJson, type ScanTaskResult } from './task-result.ts';

/** Runs one scan, like `startScan`. */
export type RunScan = (
  options: ScanOptions,
  observer: {
    onFinding: (finding: Finding) => void | Promise<void>;
    onProblem: (problem: Problem) => void;
    onProgress: (progress: ScanProgress) => void;
  },
  environment: { clock: Clock; log: Logger; signal: AbortSignal },
) => Promise<ScanSummary>;

export interface ObjectScanOptions {
  startScan: RunScan;
  roots: ScanRoots;
  /** Stores findings that exceed a result; null for a worker without a database. */
  books: Pick<ScanBooks, 'putChunk'> | null;
  clock: Clock;
  /** How secrets are verified if a task asks for it. */
  verify: VerifyOptions;
  /** Concurrent tasks of the kind in this process; each scans in one thread of its own. */
  concurrency: number;
}

const TIMEOUT_SECS = 3600;
const COUNTS_EVERY_MS = 1000;
const LIFE_EVERY_MS = 15_000;

/** `ObjectScan`: searches one part of a generator's sources, or its own sources, for secrets. */
export function objectScan(options: ObjectScanOptions) {
  return defineKind({
    name: SCAN_KIND,
    input: scanSchema,
    concurrency: options.concurrency,
    timeout_secs: TIMEOUT_SECS,
    run: (input, context) => scan(options, input, context),
  });
}

async function scan(options: ObjectScanOptions, input: ScanInput, context: KindContext) {
  const { roots, books, clock } = options;
  const { task, signal, log } = context;
  roots.requireAllowed(input.sources);
  const { rules: ruleSources, accept, verify, ...settings } = input.settings;
  const rules = await ruleTextsOf(ruleSources, roots);
  const collector = new ScanCollector({ books, task_id: task.id, attempt: task.attempt, accept });
  const progressReporter = new ProgressReporter(context, clock);
  const summary = await options.startScan(
    { ...settings, sources: input.sources, rules, threads: 1, verify: verify ? options.verify : null },
    {
      onFinding: (finding) => collector.finding(finding),
      onProblem: (problem) => collector.problem(problem),
      onProgress: (progress) => progressReporter.update(progress.objects_completed),
    },
    { clock, log, signal },
  );
  signal.throwIfAborted();
  const result = await resultOf(summary, collector, task.attempt);
  if (summary.outcome === 'aborted') {
    const reason = summary.reason ?? 'the scan was stopped';
    if (result.objects === 0) throw new Error(reason);
    throw new PartialFailure(reason, { result: asJson(result) });
  }
  await progressReporter.end(summary.metrics.objects_completed);
  if (result.outcome === 'complete') return asJson(result);
  throw new PartialFailure(reasonOf(result, collector), { result: asJson(result) });
}

/** Reports the number of scanned objects periodically, even if unchanged, since one large object takes time. */
class ProgressReporter {
  readonly #context: KindContext;
  readonly #clock: Clock;
  #reported = 0;
  #reportedAt: number;

  constructor(context: KindContext, clock: Clock) {
    this.#context = context;
    this.#clock = clock;
    this.#reportedAt = clock.monotonic();
  }

  update(objects: number): void {
    const now = this.#clock.monotonic();
    const done = objects - this.#reported;
    if (now - this.#reportedAt < (done > 0 ? COUNTS_EVERY_MS : LIFE_EVERY_MS)) return;
    this.#reportedAt = now;
    this.#reported = objects;
    const { log, progress } = this.#context;
    progress(done).catch((error: unknown) => log.debug({ err: error }, 'progress report failed'));
  }

  async end(objects: number): Promise<void> {
    if (objects > this.#reported) await this.#context.progress(objects - this.#reported);
  }
}

async function resultOf(summary: ScanSummary, collector: ScanCollector, attempt: number): Promise<ScanTaskResult> {
  const { findings, chunks } = await collector.end();
  const { metrics, outcome, duration_ms } = summary;
  // Accepted problems do not make a scan incomplete.
  const explained = outcome === 'incomplete' && collector.problemCount > 0 && collector.omitted === 0;
  const whole = (outcome === 'complete' || explained) && collector.lost === 0;
  return {
    outcome: whole ? 'complete' : 'incomplete',
    findings,
    chunks,
    attempt,
    finding_count: collector.count,
    findings_lost: collector.lost,
    objects: metrics.objects_completed,
    bytes: metrics.bytes_scanned,
    problem_count: collector.problemCount,
    problems: collector.problems,
    duration_ms: Math.round(duration_ms),
    metrics,
  };
}

function reasonOf({ problems }: ScanTaskResult, { omitted, lost }: ScanCollector): string {
  const reasons: string[] = [];
  const first = problems.find(({ extent }) => extent !== 'notice');
  if (omitted > 0) {
    const example = first === undefined ? '' : `, the first: ${first.path}: ${first.message}`;
    reasons.push(`${omitted === 1 ? '1 object was' : `${omitted} objects were`} not scanned completely${example}`);
  }
  if (lost > 0) {
    reasons.push(`${lost} findings did not fit into the result, and this worker has no database for more`);
  }
  return reasons.length === 0 ? 'the scan left something out' : reasons.join('; ');
}
