import { HeddleError } from '@heddle/base/errors';
import type {
  Engine,
  ProgressReport,
  ProgressResult,
  Report,
  Submission,
  SubmitResult,
  TaskUpdate,
  TransitionOutcome,
  WorkflowSubmission,
  WorkflowSubmitResult,
} from '@heddle/core/engine/port';
import { countNodes } from '@heddle/base/vocabulary/workflow';
import { Coalescer } from '@heddle/base/coalescer';
import { Permits } from '@heddle/base/permits';

/** Submissions of more tasks or nodes than this have their own transaction. */
const SHARED_TASKS_MAX = 1000;
/** Tasks or nodes of one shared transaction. */
const TASKS_PER_FLUSH = 5000;
/** Tasks that wait for a transaction beside another one: single tasks share theirs, which halves what each of them costs. */
const BESIDE_TASKS_MIN = 128;
/** Concurrent large submissions; they hold a connection for long. */
const LARGE_SUBMISSIONS = 2;

/** Batches the single operations of requests, which the engine performs in sets. */
export class Operations {
  readonly #engine: Engine;
  readonly #submissions: Coalescer<Submission, SubmitResult>;
  readonly #workflows: Coalescer<SizedWorkflow, WorkflowSubmitResult>;
  readonly #reports: Coalescer<Report, TransitionOutcome>;
  readonly #updates: Coalescer<TaskUpdate, TransitionOutcome>;
  readonly #progress: Coalescer<ProgressReport, ProgressResult>;
  readonly #large = new Permits(LARGE_SUBMISSIONS);

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#submissions = new Coalescer({
      flush: (items) => submitInParts(items, BATCH_PARTS, (part) => engine.submit(part)),
      maxItems: 1000,
      maxUnderWay: 2,
      besideMin: BESIDE_TASKS_MIN,
      sizeOf: BATCH_PARTS.sizeOf,
      maxWaiting: 20_000,
    });
    this.#workflows = new Coalescer({
      flush: (items) =>
        submitInParts(items, WORKFLOW_PARTS, (part) =>
          engine.submitWorkflows(part.map(({ submission }) => submission)),
        ),
      maxItems: 1000,
      maxUnderWay: 2,
      maxWaiting: 20_000,
    });
    this.#reports = new Coalescer({
      flush: (items) => inRounds(items, (round) => engine.report(round)),
      maxItems: 1000,
      maxWaiting: 20_000,
    });
    this.#updates = new Coalescer({
      flush: (items) => inRounds(items, (round) => engine.update(round)),
      maxItems: 1000,
      maxWaiting: 20_000,
    });
    this.#progress = new Coalescer({ flush: (items) => engine.progress(items), maxItems: 2000, maxWaiting: 50_000 });
  }

  /** Resolves after the commit. */
  async submit(submission: Submission): Promise<SubmitResult> {
    if (submission.tasks.length <= SHARED_TASKS_MAX) return this.#submissions.add(submission);
    using _permit = await this.#large.acquire();
    const [result] = await this.#engine.submit([submission]);
    return result!;
  }

  /** Resolves after the commit. */
  async submitWorkflow(submission: WorkflowSubmission): Promise<WorkflowSubmitResult> {
    const nodes = countNodes(submission.root);
    if (nodes <= SHARED_TASKS_MAX) return this.#workflows.add({ submission, nodes });
    using _permit = await this.#large.acquire();
    const [result] = await this.#engine.submitWorkflows([submission]);
    return result!;
  }

  report(report: Report): Promise<TransitionOutcome> {
    return this.#reports.add(report);
  }

  update(update: TaskUpdate): Promise<TransitionOutcome> {
    return this.#updates.add(update);
  }

  progress(report: ProgressReport): Promise<ProgressResult> {
    return this.#progress.add(report);
  }

  async drain(): Promise<void> {
    const all = [this.#submissions, this.#workflows, this.#reports, this.#updates, this.#progress];
    await Promise.all(all.map((each) => each.drain()));
  }
}

interface SizedWorkflow {
  submission: WorkflowSubmission;
  nodes: number;
}

/** How submissions share transactions. */
interface Parts<Item> {
  sizeOf: (item: Item) => number;
  /** Whether the engine need not process it in order (idempotency, deduplication). */
  isPlain: (item: Item) => boolean;
}

const BATCH_PARTS: Parts<Submission> = {
  sizeOf: ({ tasks }) => tasks.length,
  isPlain: ({ idempotency, tasks }) => idempotency === null && tasks.every((task) => task.dedupe.length === 0),
};

const WORKFLOW_PARTS: Parts<SizedWorkflow> = {
  sizeOf: ({ nodes }) => nodes,
  isPlain: ({ submission }) => submission.idempotency === null,
};

/**
 * Splits submissions into transactions of bounded size: many submissions of many tasks do not add up to one. Those that
 * the engine must process in order are kept out of the shared statements.
 */
async function submitInParts<Item, Result>(
  items: readonly Item[],
  parts: Parts<Item>,
  submit: (part: Item[]) => Promise<Result[]>,
): Promise<PromiseSettledResult<Result>[]> {
  const results = new Array<PromiseSettledResult<Result>>(items.length);
  for (const part of partsOf(items, parts)) {
    const settled = await settleEach(
      part.map((index) => items[index]!),
      submit,
    );
    part.forEach((index, at) => (results[index] = settled[at]!));
  }
  return results;
}

/** Indices of what is submitted together. */
function partsOf<Item>(items: readonly Item[], { sizeOf, isPlain }: Parts<Item>): number[][] {
  const parts: number[][] = [];
  const filling = new Map<boolean, { part: number[]; size: number }>();
  for (const [index, item] of items.entries()) {
    const shared = isPlain(item);
    const size = sizeOf(item);
    let open = filling.get(shared);
    if (open === undefined || open.size + size > TASKS_PER_FLUSH) {
      open = { part: [], size: 0 };
      filling.set(shared, open);
      parts.push(open.part);
    }
    open.part.push(index);
    open.size += size;
  }
  return parts;
}

/** A rejected submission (a key reused with another body) does not affect the others of its set. */
async function settleEach<Item, Result>(
  part: Item[],
  submit: (part: Item[]) => Promise<Result[]>,
): Promise<PromiseSettledResult<Result>[]> {
  const [whole] = await Promise.allSettled([submit(part)]);
  if (whole.status === 'fulfilled') return whole.value.map((value) => ({ status: 'fulfilled', value }));
  // If the database is unavailable, retrying each one separately would only take longer.
  const away = whole.reason instanceof HeddleError && whole.reason.retryable;
  if (away || part.length === 1) return part.map(() => whole);
  const middle = part.length >> 1;
  const first = await settleEach(part.slice(0, middle), submit);
  return [...first, ...(await settleEach(part.slice(middle), submit))];
}

/** Runs items in as few sets as possible, each task at most once per set, in the order of arrival. */
async function inRounds<Item extends { task_id: string }, Result>(
  items: Item[],
  run: (round: Item[]) => Promise<Result[]>,
): Promise<PromiseSettledResult<Result>[] | Result[]> {
  if (new Set(items.map((item) => item.task_id)).size === items.length) return run(items);
  const results = new Array<PromiseSettledResult<Result>>(items.length);
  let rest = items.map((item, index) => ({ item, index }));
  while (rest.length > 0) {
    const seen = new Set<string>();
    const round = rest.filter(({ item }) => !seen.has(item.task_id) && seen.add(item.task_id));
    const chosen = new Set(round);
    rest = rest.filter((entry) => !chosen.has(entry));
    const [outcome] = await Promise.allSettled([run(round.map(({ item }) => item))]);
    round.forEach(({ index }, at) => {
      results[index] = outcome.status === 'fulfilled' ? { status: 'fulfilled', value: outcome.value[at]! } : outcome;
    });
  }
  return results;
}
