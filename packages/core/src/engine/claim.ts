import {
  claimTasks,
  claimTasksForDelivery,
  markClaimerSeen,
  submitAndClaim,
  type Claimed,
  type ClaimRow,
  type ClaimTerms,
} from '../store/claims.ts';
import { attemptContext } from '@heddle/base/work-spans';
import type { Waits } from '../store/transitions.ts';
import type { SubmissionRows } from '../store/submissions.ts';
import type { EngineContext } from './context.ts';
import { withInputs, type HandedOut } from './flow/hand-out.ts';
import { claimableLaneIds, isRunnerLane, WEBHOOK_LANE } from './lanes.ts';
import type { ClaimAlong, ClaimedTask, ClaimRequest, Report, TransitionOutcome } from './port.ts';
import { lanesLeft, report, settleReports } from './report.ts';
import { withRunners } from './runners/hand-out.ts';

/** Interval at which a claimer's presence on its lanes is recorded, ms. */
const PRESENCE_INTERVAL_MS = 10_000;

/** Maximum number of claimers whose presence is remembered. */
const SEEN_MAX = 10_000;

/** Maximum number of workflows to list: 17, since more than 16 mean "many". */
export function workflowsOf(rows: readonly { workflow_id: string }[]): string[] {
  const workflows = new Set<string>();
  for (const row of rows) {
    workflows.add(row.workflow_id);
    if (workflows.size > 16) break;
  }
  return [...workflows];
}

/** Returns the trace context sent with a claimed task, the parent of its attempt's spans. */
export function traceOf(context: EngineContext, { id, attempt, traceparent }: ClaimRow): { traceparent?: string } {
  if (traceparent === null) return {};
  const own = context.traces === null ? traceparent : attemptContext(context.traces.tracing, traceparent, id, attempt);
  return own === null ? {} : { traceparent: own };
}

function claimedTaskOf(context: EngineContext, row: ClaimRow, kind: string): ClaimedTask {
  return {
    id: row.id,
    workflow_id: row.workflow_id,
    kind,
    name: row.name,
    attempt: row.attempt,
    metadata: row.metadata,
    timeout_secs: row.timeout_secs,
    timeout_basis: row.deadline_basis === 0 ? 'start' : 'activity',
    linked: row.linked,
    container_id: row.container_id,
    local_id: row.local_id,
    ...traceOf(context, row),
  };
}

/** Hands ready tasks to claimers and records which lanes they claim from. */
export class Claims {
  readonly #context: EngineContext;
  readonly #seenAt = new Map<string, number>();

  constructor(context: EngineContext) {
    this.#context = context;
  }

  /** Claims tasks that the caller runs itself; they are running when this returns. */
  async claim(request: ClaimRequest): Promise<ClaimedTask[]> {
    const { database, claimSizes } = this.#context;
    const lanes = await claimableLaneIds(this.#context, request.lanes);
    await this.#markSeen(lanes, request.holder);
    for (;;) {
      const limit = claimSizes.limitOf(lanes, request.limit);
      const claimed = await claimTasks(database, lanes, this.#termsOf(request, limit), this.#context.now());
      const { tasks, more } = await this.#handOut(claimed, lanes, limit, request.limit);
      // Every claimed task failed on its expressions, and others are ready.
      if (tasks.length === 0 && more) continue;
      return lanes.some(isRunnerLane) ? withRunners(this.#context, tasks) : tasks;
    }
  }

  /** Applies reports and claims the next tasks, in one round trip as far as possible. */
  async reportAndClaim(
    reports: readonly Report[],
    request: ClaimRequest,
  ): Promise<{ outcomes: TransitionOutcome[]; claimed: ClaimedTask[] }> {
    const lanes = await claimableLaneIds(this.#context, request.lanes);
    // The kinds in a runner's lane become known too late to lock them before the reported tasks.
    if (reports.length === 0 || lanes.some(isRunnerLane)) {
      return { outcomes: await report(this.#context, reports), claimed: await this.claim(request) };
    }
    await this.#markSeen(lanes, request.holder);
    const limit = this.#context.claimSizes.limitOf(lanes, request.limit);
    const step = { lanes, terms: this.#termsOf(request, limit) };
    const { outcomes, claimed } = await settleReports(this.#context, reports, step);
    const { tasks } = await this.#handOut(claimed!, lanes, limit, request.limit);
    return { outcomes, claimed: tasks };
  }

  /** Stores submissions together with a claim; hands out the claimed tasks when this returns. */
  async submitAndClaim(rows: SubmissionRows, along: ClaimAlong): Promise<{ lanes: number[]; now: number }> {
    const context = this.#context;
    const { request } = along;
    try {
      const lanes = await claimableLaneIds(context, request.lanes);
      await this.#markSeen(lanes, request.holder);
      const limit = context.claimSizes.limitOf(lanes, request.limit);
      const terms = this.#termsOf(request, limit);
      const { stored, claimed } = await submitAndClaim(context.database, rows, lanes, terms, context.now());
      along.arrived((await this.#handOut(claimed, lanes, limit, request.limit)).tasks);
      return { ...stored, lanes: lanesLeft(stored.lanes, lanes, claimed.rows.length < limit) };
    } catch (error) {
      along.arrived(null);
      throw error;
    }
  }

  #termsOf({ holder, lease_ms = null, traced = false }: ClaimRequest, limit: number): ClaimTerms {
    const { settings, traces } = this.#context;
    const { claimTimeoutMs } = settings;
    return { limit, holder, claimTimeoutMs, leaseMs: lease_ms, traced: traced || traces !== null };
  }

  /**
   * @param limit number of tasks the claim could take, of the `asked` requested
   * @returns `more`: ready tasks remain that it did not take, or put back
   */
  async #handOut(
    { rows, refused }: Claimed,
    lanes: readonly number[],
    limit: number,
    asked: number,
  ): Promise<{ tasks: ClaimedTask[]; more: boolean }> {
    const { observer, kinds, signals, claimSizes } = this.#context;
    observer.refused(refused);
    if (rows.length === 0) return { tasks: [], more: false };
    signals.emit({ workflows: workflowsOf(rows) });
    const names = await kinds.names(rows.map((row) => row.kind_id));
    await observer.claimed('pending', 'running', waitsByKind(rows));
    const { tasks, deferred } = await this.#withInputs(
      rows,
      rows.map((row) => claimedTaskOf(this.#context, row, names.get(row.kind_id)!)),
      lanes,
    );
    claimSizes.note(lanes, limit, rows.length, deferred);
    const more = deferred > 0 || (limit < asked && rows.length >= limit);
    if (more) signals.emit({ lanes });
    return { tasks, more };
  }

  async #withInputs(rows: readonly ClaimRow[], tasks: ClaimedTask[], lanes: readonly number[]): Promise<HandedOut> {
    if (!rows.some((row) => row.computed)) return { tasks, deferred: 0 };
    const computed = new Set(rows.flatMap((row) => (row.computed ? [row.id] : [])));
    // Tasks of a runner's lane are for that runner only.
    return withInputs(this.#context, tasks, { computed, defers: !lanes.some(isRunnerLane) });
  }

  /** Claims tasks that start by a webhook and writes their start deliveries; returns their number. */
  async claimForDelivery(holder: string, limit: number): Promise<number> {
    const { database, observer, signals, settings } = this.#context;
    await this.#markSeen([WEBHOOK_LANE], holder);
    const { rows, refused } = await claimTasksForDelivery(
      database,
      limit,
      holder,
      settings.claimTimeoutMs,
      this.#context.now(),
    );
    observer.refused(refused);
    if (rows.length === 0) return 0;
    signals.emit({ deliveries: true, workflows: workflowsOf(rows) });
    await observer.claimed('pending', 'claimed', waitsByKind(rows));
    return rows.length;
  }

  async #markSeen(lanes: readonly number[], holder: string): Promise<void> {
    const now = this.#context.clock.monotonic();
    const due = lanes.filter((lane) => {
      // A claim by a runner is its sign of presence for the pool.
      if (isRunnerLane(lane)) return false;
      const seenAt = this.#seenAt.get(`${lane}:${holder}`);
      return seenAt === undefined || now - seenAt >= PRESENCE_INTERVAL_MS;
    });
    if (due.length === 0) return;
    // Worker names are arbitrary: a forgotten one is simply recorded again.
    if (this.#seenAt.size > SEEN_MAX) this.#seenAt.clear();
    for (const lane of due) this.#seenAt.set(`${lane}:${holder}`, now);
    await markClaimerSeen(this.#context.database, [...new Set(due)], holder, this.#context.now());
  }
}

function waitsByKind(rows: readonly { kind_id: number; waited_ms: number }[]): Waits[] {
  const waits = new Map<number, number[]>();
  for (const { kind_id, waited_ms } of rows) {
    const list = waits.get(kind_id);
    if (list === undefined) waits.set(kind_id, [waited_ms]);
    else list.push(waited_ms);
  }
  return Array.from(waits, ([kind, waits_ms]) => ({ kind, waits_ms }));
}
