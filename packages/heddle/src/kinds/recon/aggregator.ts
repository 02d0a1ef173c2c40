import type { JsonObject, JsonValue } from '@heddle/base/json';
import {
  MODEL_TARGET_CHARACTERS_MAX,
  type ModelRun,
  type ReportedModel,
  type TrackedModel,
} from '@heddle/core/domain/model-record';
import type { Members } from '@heddle/base/parse/members';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { ModelBooks } from '@heddle/core/engine/port';
import type { ReconRecord } from '@heddle/recon/records';
import { defineKind, type EarlierResult, type KindContext } from '@heddle/kit';
import { schemaOf, textsMember } from '../definition/input-schema.ts';
import type { ScanFamily } from './kind-names.ts';
import { readScanResult, type ScanResult } from './task-result.ts';

export interface AggregatorInput {
  target: string;
  /** Number of tasks that a generator created: fewer results mean that something is missing. */
  tasks: number | null;
  /** What the generator left out. */
  skipped: readonly string[];
}

export interface AggregatorOptions<Record extends ReconRecord> {
  family: ScanFamily;
  /** Type of its records: others are rejected. */
  type: Record['type'];
  books: ModelBooks;
  modelsOf: (record: Record) => ReportedModel[];
}

const MERGE_MODELS = 1000;
const REASONS_MAX = 20;
const CHANGES_SHOWN = 100;
const CHANGES_CHARACTERS_MAX = 384 * 1024;

const aggregatorSchema = schemaOf<AggregatorInput, JsonObject>((input) => {
  input.refuseOthers(['target', 'tasks', 'skipped']);
  return {
    target: readTarget(input),
    tasks: input.integer('tasks', 0, 1_000_000),
    skipped: textsMember(input, 'skipped', { max: REASONS_MAX, maxChars: 1000 }) ?? [],
  };
});

/** Reads the name under which models are kept. */
function readTarget(input: Members): string {
  input.requireAll('target');
  return input.text('target', MODEL_TARGET_CHARACTERS_MAX) ?? '';
}

/**
 * Defines the kind that merges the records of the scans before it into the models of a target. The run is identified
 * by this task, and every step is repeatable: an attempt that fails anywhere leaves nothing to undo.
 */
export function scanAggregator<Record extends ReconRecord>(options: AggregatorOptions<Record>) {
  return defineKind({
    name: options.family.aggregator,
    input: aggregatorSchema,
    timeout_secs: 3600,
    retry: { max_attempts: 3, backoff_secs: 1 },
    run: (input, context) => aggregate(input, context, options),
  });
}

async function aggregate<Record extends ReconRecord>(
  input: AggregatorInput,
  context: KindContext,
  options: AggregatorOptions<Record>,
): Promise<JsonObject> {
  const { task, signal } = context;
  const { books, family } = options;
  const { open, run } = await books.beginRun(task.id, input.target);
  const totals = new Totals(input.skipped);
  if (!open) {
    totals.omitted('a later run of this target has started; this run was left unchanged');
    return resultOf(run, totals, await books.runChanges(task.id, CHANGES_SHOWN + 1));
  }
  const merger = new Merger(books, task.id);
  for await (const result of context.results()) {
    if (result.kind !== family.scan) continue;
    await takeResult(result, { merger, totals, ...options });
    await context.progress(1);
  }
  await merger.flush();
  signal.throwIfAborted();
  await judge(input, totals, options, task.id);
  const ended = await books.finishRun(task.id, { complete: totals.isWhole, covers: family.models });
  return resultOf(ended, totals, await books.runChanges(task.id, CHANGES_SHOWN + 1));
}

/** Records what is missing: tasks that did not succeed, and those without a result. */
async function judge<Record extends ReconRecord>(
  { tasks }: AggregatorInput,
  totals: Totals,
  { books, family }: AggregatorOptions<Record>,
  taskId: string,
): Promise<void> {
  const scans = await books.countTasksBefore(taskId, [family.scan]);
  const generators = await books.countTasksBefore(taskId, [family.generator]);
  const stand = Object.values(scans).reduce((sum, count) => sum + count, 0);
  if (stand === 0 && tasks === null && Object.keys(generators).length === 0) {
    throw new Error(`no ${family.scan} precedes this task in its sequence; nothing was merged`);
  }
  for (const reason of [...unfinished(scans), ...unfinished(generators)]) totals.omitted(reason);
  const expected = Math.max(tasks ?? 0, stand);
  if (totals.tasks < expected) totals.omitted(`${totals.tasks} of ${expected} ${family.scan} tasks left a result`);
}

interface MergeContext<Record extends ReconRecord> extends AggregatorOptions<Record> {
  merger: Merger;
  totals: Totals;
}

async function takeResult<Record extends ReconRecord>(
  { task_id, data }: EarlierResult,
  taking: MergeContext<Record>,
): Promise<void> {
  const { books, totals } = taking;
  const result = readScanResult(task_id, data);
  totals.add(task_id, result);
  if (result.chunks === 0) await takeRecords(task_id, result.records, taking);
  for (let ordinal = 0; ordinal < result.chunks; ordinal += 1) {
    const chunk = await books.readChunk({ task_id, attempt: result.attempt, ordinal });
    if (chunk === null) totals.omitted(`records of ${task_id} are no longer kept`);
    else await takeRecords(task_id, chunk, taking);
  }
}

async function takeRecords<Record extends ReconRecord>(
  taskId: string,
  records: readonly JsonValue[],
  { merger, totals, modelsOf, type }: MergeContext<Record>,
): Promise<void> {
  for (const given of records) {
    const record = given as unknown as Record | null;
    if (record?.type !== type) throw new Error(`a record of the task ${taskId} is not of the type ${type}`);
    totals.records += 1;
    await merger.take(modelsOf(record));
  }
}

/** Collects models until one statement is full. */
class Merger {
  readonly #books: ModelBooks;
  readonly #runId: string;
  #waiting: ReportedModel[] = [];

  constructor(books: ModelBooks, runId: string) {
    this.#books = books;
    this.#runId = runId;
  }

  async take(models: readonly ReportedModel[]): Promise<void> {
    this.#waiting.push(...models);
    if (this.#waiting.length >= MERGE_MODELS) await this.flush();
  }

  async flush(): Promise<void> {
    const models = this.#waiting;
    this.#waiting = [];
    if (models.length > 0) await this.#books.merge(this.#runId, models);
  }
}

/** Totals of all scans, and what they left out. */
class Totals {
  tasks = 0;
  records = 0;
  settled = 0;
  sent = 0;
  unresolved = 0;
  readonly counts: Record<string, number> = {};
  readonly incomplete: string[];

  constructor(omitted: readonly string[]) {
    this.incomplete = [...omitted];
  }

  get isWhole(): boolean {
    return this.incomplete.length === 0;
  }

  add(taskId: string, result: ScanResult): void {
    this.tasks += 1;
    this.settled += result.settled;
    this.sent += result.sent;
    this.unresolved += result.unresolved;
    for (const [name, count] of Object.entries(result.counts)) {
      this.counts[name] = (this.counts[name] ?? 0) + count;
    }
    if (result.outcome === 'complete') return;
    const [first] = result.skipped;
    const what = first === undefined ? 'not everything was scanned' : `${first.target}: ${first.reason}`;
    const more = result.skipped_count > 1 ? ` (and ${result.skipped_count - 1} more)` : '';
    this.omitted(`${taskId}: ${what}${more}`);
  }

  omitted(reason: string): void {
    if (this.incomplete.length < REASONS_MAX) this.incomplete.push(reason);
  }
}

/** Counts tasks that did not succeed, including those without a result. */
function unfinished(counts: Partial<Record<TaskState, number>>): string[] {
  const states = Object.entries(counts).filter(([state]) => state !== 'succeeded' && state !== 'partially_failed');
  return states.map(([state, count]) => `${count} of the tasks before this one ended ${state.replaceAll('_', ' ')}`);
}

function resultOf(run: ModelRun, totals: Totals, changed: readonly TrackedModel[]): JsonObject {
  const changes: JsonObject[] = [];
  let characters = 0;
  for (const { id, model, key, state, data, changes: fields } of changed.slice(0, CHANGES_SHOWN)) {
    const change = { id, model, key, state, data, changes: fields.map((field) => ({ ...field })) };
    characters += JSON.stringify(change).length;
    if (characters > CHANGES_CHARACTERS_MAX) break;
    changes.push(change);
  }
  return {
    target: run.target,
    run: run.number,
    run_id: run.id,
    complete: run.complete,
    new: run.new,
    changed: run.changed,
    known: run.known,
    gone: run.gone,
    by_model: run.by_model.map((counts) => ({ ...counts })),
    changes,
    changes_omitted: Math.max(0, run.new + run.changed + run.gone - changes.length),
    tasks: totals.tasks,
    records: totals.records,
    settled: totals.settled,
    sent: totals.sent,
    unresolved: totals.unresolved,
    counts: totals.counts,
    incomplete: [...totals.incomplete],
  };
}
