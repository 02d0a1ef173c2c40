import type { ReportedFinding, ScanRun } from '@heddle/core/domain/finding';
import type { JsonObject } from '@heddle/base/json';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { ScanBooks } from '@heddle/core/engine/port';
import { defineKind, type EarlierResult, type KindContext } from '@heddle/kit';
import { emptyMetrics, mergeMetrics } from '@heddle/scan/graph/metrics';
import { AGGREGATOR_KIND, aggregatorSchema, GENERATOR_KIND, SCAN_KIND, type AggregatorInput } from './input.ts';
import { readTaskResult, type ScanTaskResult } from './task-result.ts';

export interface AggregatorOptions {
  books: ScanBooks;
}

/** Findings that one statement merges. */
const MERGE_FINDINGS = 1000;
const REASONS_MAX = 20;

/**
 * `ObjectScanAggregator`: merges the findings of the scans before it into those of a target. The run is identified by
 * this task, and every step is repeatable: an attempt that fails anywhere leaves nothing to undo.
 */
export function objectScanAggregator({ books }: AggregatorOptions) {
  return defineKind({
    name: AGGREGATOR_KIND,
    input: aggregatorSchema,
    timeout_secs: 3600,
    run: (input, context) => (input.verdicts ? keepVerdicts : aggregate)(input, context, books),
  });
}

async function aggregate({ target }: AggregatorInput, context: KindContext, books: ScanBooks) {
  const { task, signal } = context;
  const { open, run } = await books.beginRun(task.id, target);
  if (!open)
    return resultOf(run, new Totals(), ['a later run of this target has started; this run was left unchanged']);
  const totals = new Totals();
  const merger = new Merger(books, task.id);
  for await (const result of context.results()) {
    if (result.kind !== SCAN_KIND) continue;
    await takeResult(result, { books, merger, totals });
    await context.progress(1);
  }
  await merger.flush();
  signal.throwIfAborted();
  if (totals.tasks === 0) throw new Error(`no ${SCAN_KIND} precedes this task in its sequence; nothing was merged`);
  const left = [
    ...totals.incomplete,
    ...unfinished(await books.countTasksBefore(task.id, [SCAN_KIND, GENERATOR_KIND])),
  ];
  return resultOf(await books.finishRun(task.id, left.length === 0), totals, left);
}

/** Keeps the verdicts of the scans before it, for findings that the target has. */
async function keepVerdicts(
  { target }: AggregatorInput,
  { task, signal, results, progress }: KindContext,
  books: ScanBooks,
): Promise<JsonObject> {
  let [scans, found, verified] = [0, 0, 0];
  const keep = async (findings: readonly ReportedFinding[]): Promise<void> => {
    const withVerdict = findings.filter((each) => (each.verification ?? null) !== null);
    found += withVerdict.length;
    for (let at = 0; at < withVerdict.length; at += MERGE_FINDINGS) {
      const rows = withVerdict.slice(at, at + MERGE_FINDINGS);
      const latest = new Map(rows.map(({ fingerprint, verification }) => [fingerprint, verification!]));
      verified += await books.verify(
        target,
        [...latest].map(([fingerprint, verification]) => ({ fingerprint, verification })),
      );
    }
  };
  for await (const { kind, task_id, data } of results()) {
    if (kind !== SCAN_KIND) continue;
    const result = readTaskResult(task_id, data);
    for (let ordinal = 0; ordinal < result.chunks; ordinal += 1)
      await keep((await books.readChunk({ task_id, attempt: result.attempt, ordinal })) ?? []);
    await keep(result.findings);
    scans += 1;
    await progress(1);
  }
  signal.throwIfAborted();
  if (scans === 0) throw new Error(`no ${SCAN_KIND} precedes this task in its sequence; no verdict was kept`);
  return { target, task: task.id, found, verified };
}

interface MergeContext {
  books: ScanBooks;
  merger: Merger;
  totals: Totals;
}

async function takeResult({ task_id, data }: EarlierResult, { books, merger, totals }: MergeContext): Promise<void> {
  const result = readTaskResult(task_id, data);
  for (let ordinal = 0; ordinal < result.chunks; ordinal += 1) {
    const chunk = await books.readChunk({ task_id, attempt: result.attempt, ordinal });
    if (chunk === null) totals.omitted(`the findings of ${task_id} are no longer kept`);
    else await merger.take(chunk);
  }
  await merger.take(result.findings);
  totals.add(task_id, result);
}

/** Collects findings until one statement is full. */
class Merger {
  readonly #books: ScanBooks;
  readonly #runId: string;
  #waiting: ReportedFinding[] = [];

  constructor(books: ScanBooks, runId: string) {
    this.#books = books;
    this.#runId = runId;
  }

  async take(findings: readonly ReportedFinding[]): Promise<void> {
    for (const finding of findings) {
      this.#waiting.push(finding);
      if (this.#waiting.length >= MERGE_FINDINGS) await this.flush();
    }
  }

  async flush(): Promise<void> {
    const findings = this.#waiting;
    this.#waiting = [];
    if (findings.length > 0) await this.#books.merge(this.#runId, findings);
  }
}

/** Totals of all scans, and what they left out. */
class Totals {
  tasks = 0;
  objects = 0;
  bytes = 0;
  problems = 0;
  readonly metrics = emptyMetrics();
  readonly incomplete: string[] = [];

  add(taskId: string, { objects, bytes, problem_count, problems, outcome, metrics }: ScanTaskResult): void {
    this.tasks += 1;
    this.objects += objects;
    this.bytes += bytes;
    this.problems += problem_count;
    mergeMetrics(this.metrics, metrics);
    if (outcome === 'complete') return;
    const first = problems.find(({ extent }) => extent !== 'notice');
    this.omitted(`${taskId}: ${first === undefined ? 'not scanned completely' : `${first.path}: ${first.message}`}`);
  }

  omitted(reason: string): void {
    if (this.incomplete.length < REASONS_MAX) this.incomplete.push(reason);
  }
}

/** Counts scans that did not succeed, including those without a result. */
function unfinished(counts: Partial<Record<TaskState, number>>): string[] {
  const states = Object.entries(counts).filter(([state]) => state !== 'succeeded');
  return states.map(([state, count]) => `${count} of the tasks before this one ended ${state.replaceAll('_', ' ')}`);
}

function resultOf(run: ScanRun, totals: Totals, incomplete: readonly string[]): JsonObject {
  return {
    target: run.target,
    run: run.number,
    complete: run.complete,
    new: run.new,
    known: run.known,
    gone: run.gone,
    by_rule: run.by_rule.map((rule) => ({ ...rule })),
    objects: totals.objects,
    bytes: totals.bytes,
    problems: totals.problems,
    metrics: { ...totals.metrics },
    incomplete: [...incomplete],
  };
}
