import {
  BATCH_WIRE_STATE,
  isTerminal,
  taskStateOf,
  type TaskState,
  type TerminalState,
} from '@heddle/base/vocabulary/task-state';
import { countOf, type Activity } from './activity.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Kinds } from '../store/kinds.ts';
import type { DeliveriesMoved } from '../store/deliveries.ts';
import { TRANSITION_RESULTS } from '../store/sql-names.ts';
import type { Moved, TransitionCount, Waits } from '../store/transitions.ts';
import type { Signals } from './signals.ts';
import type { EndedAttempt, Traces } from './traces/traces.ts';

const PARENT_OUTCOME = {
  succeeded: 'success',
  failed: 'failure',
  timed_out: 'failure',
  partially_failed: 'failure',
  canceled: 'canceled',
  disabled: 'success',
} as const satisfies Record<TerminalState, string>;

interface ObserverParts {
  metrics: Metrics | undefined;
  kinds: Kinds;
  signals: Signals;
  traces: Traces | null;
  activity: Activity;
}

/** Notifies metrics, traces and waiting loops of a committed transition. */
export class Observer {
  readonly #metrics: Metrics | undefined;
  readonly #kinds: Kinds;
  readonly #signals: Signals;
  readonly #traces: Traces | null;
  readonly #activity: Activity;

  constructor(parts: ObserverParts) {
    this.#metrics = parts.metrics;
    this.#kinds = parts.kinds;
    this.#signals = parts.signals;
    this.#traces = parts.traces;
    this.#activity = parts.activity;
  }

  async moved(moved: Moved): Promise<void> {
    this.#signals.emit({
      lanes: moved.lanes ?? [],
      deliveries: (moved.deliveries ?? 0) > 0,
      workflows: moved.workflows ?? [],
    });
    const { ended } = moved;
    if (this.#traces !== null && ended !== null && ended !== undefined) await this.#traces.workflowsEnded(ended);
    const failedByDependency = (moved.cascaded ?? []).reduce((sum, { count }) => sum + count, 0);
    this.#activity.ended(moved.transitions ?? [], failedByDependency);
    if (this.#metrics === undefined) return;
    const kindIds = [...(moved.transitions ?? []), ...(moved.cascaded ?? [])].map(({ kind }) => kind);
    await this.#learn(kindIds);
    for (const transition of moved.transitions ?? []) this.#count(transition);
    const unblocked = moved.unblocked ?? 0;
    if (unblocked > 0) {
      this.#metrics.tasksUnblocked.inc(unblocked);
      this.#metrics.taskStatusTransitions.inc({ from_status: 'Waiting', to_status: 'Pending' }, unblocked);
    }
    for (const { kind, count } of moved.cascaded ?? []) {
      this.#metrics.tasksFailedByDependency.inc(count);
      this.#metrics.tasksCompleted.inc({ outcome: 'failure', kind: this.#name(kind) }, count);
      this.#metrics.taskStatusTransitions.inc({ from_status: 'Waiting', to_status: 'Failure' }, count);
    }
    for (const { state, count } of moved.propagations ?? []) this.#propagated(taskStateOf(state), count);
    this.#countLate(moved.codes ?? []);
  }

  /** Records the ended attempts that have a trace. */
  attemptsEnded(ended: readonly EndedAttempt[]): void {
    this.#traces?.attemptsEnded(ended);
  }

  /** Records started tasks (claimed, or started by a first heartbeat) with how long each was ready. */
  async claimed(from: 'pending' | 'claimed', to: 'claimed' | 'running', waits: readonly Waits[]): Promise<void> {
    if (to === 'running') this.#activity.started(waits);
    if (this.#metrics === undefined) return;
    await this.#learn(waits.map(({ kind }) => kind));
    for (const { kind, waits_ms } of waits) {
      this.#metrics.taskStatusTransitions.inc(
        { from_status: BATCH_WIRE_STATE[from], to_status: BATCH_WIRE_STATE[to] },
        waits_ms.length,
      );
      if (to === 'running') this.#observeWaits(kind, waits_ms);
    }
  }

  async delivered(moved: DeliveriesMoved): Promise<void> {
    this.#signals.emit({ lanes: moved.lanes, deliveries: moved.deliveries > 0, workflows: moved.workflows ?? [] });
    if (moved.settled !== null) await this.moved(moved.settled);
    this.#activity.started(moved.begun ?? []);
    if (this.#metrics === undefined) return;
    if (moved.conflicts > 0) this.#metrics.webhookIdempotentConflicts.inc(moved.conflicts);
    if (moved.skipped > 0) this.#metrics.webhookIdempotentSkips.inc({ trigger: 'start' }, moved.skipped);
    if (moved.begun === null) return;
    await this.#learn(moved.begun.map(({ kind }) => kind));
    for (const { kind, waits_ms } of moved.begun) {
      this.#metrics.taskStatusTransitions.inc({ from_status: 'Claimed', to_status: 'Running' }, waits_ms.length);
      this.#observeWaits(kind, waits_ms);
    }
  }

  /** Records ready tasks that concurrency rules blocked. */
  refused(tasks: number): void {
    if (tasks > 0) this.#metrics?.tasksBlockedByConcurrency.inc(tasks);
  }

  created(tasks: number, withDependencies: number): void {
    this.#metrics?.tasksCreated.inc(tasks);
    if (withDependencies > 0) this.#metrics?.tasksWithDependencies.inc(withDependencies);
  }

  #count(transition: TransitionCount): void {
    const metrics = this.#metrics!;
    const kind = this.#name(transition.kind);
    const to = taskStateOf(transition.to);
    const durations = transition.durations_ms ?? [];
    const count = countOf(transition);
    const from_status = BATCH_WIRE_STATE[taskStateOf(transition.from)];
    metrics.taskStatusTransitions.inc({ from_status, to_status: BATCH_WIRE_STATE[to] }, count);
    if (!isTerminal(to)) return;
    if (to === 'canceled') metrics.tasksCancelled.inc(count);
    if (to === 'timed_out') metrics.tasksTimedOut.inc(count);
    if (to === 'canceled' || to === 'disabled') return;
    const outcome = to === 'succeeded' ? 'success' : 'failure';
    metrics.tasksCompleted.inc({ outcome, kind }, count);
    for (const duration of durations) metrics.taskDurationSeconds.observe({ kind, outcome }, duration / 1000);
  }

  #propagated(parent: TaskState, count: number): void {
    if (isTerminal(parent))
      this.#metrics!.dependencyPropagations.inc({ parent_outcome: PARENT_OUTCOME[parent] }, count);
  }

  #observeWaits(kindId: number, waitsMs: readonly number[]): void {
    const kind = this.#name(kindId);
    for (const wait of waitsMs) this.#metrics!.taskWaitSeconds.observe({ kind }, wait / 1000);
  }

  #countLate(codes: readonly number[]): void {
    for (const code of codes) {
      const result = TRANSITION_RESULTS[code];
      if (result === 'unchanged') this.#metrics!.lateReports.inc({ kind: 'repeated' });
      else if (result === 'conflict' || result === 'stale_attempt') this.#metrics!.lateReports.inc({ kind: result });
    }
  }

  async #learn(kindIds: readonly number[]): Promise<void> {
    if (kindIds.some((id) => this.#kinds.knownName(id) === undefined)) await this.#kinds.names(kindIds);
  }

  #name(kindId: number): string {
    return this.#kinds.knownName(kindId) ?? 'unknown';
  }
}
