import { Coalescer } from '@heddle/base/coalescer';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Loop } from '@heddle/base/loop';
import type { Random } from '@heddle/base/random';
import type {
  ClaimAlong,
  ClaimedTask,
  ClaimRequest,
  Engine,
  ProgressReport,
  ProgressResult,
  Report,
} from '@heddle/core/engine/port';
import { ExecutionSlots } from './execution-slots.ts';
import { reasonOf } from './kind/completion.ts';
import { leaseKeeper } from './lease-keeper.ts';
import { ReportOutbox } from './report-outbox.ts';
import type { ExecutorResult, ExecutorRegistry } from './executor-registry.ts';
import { engineControl, type TaskControl } from './task-control.ts';
import { TaskLogs } from './task-logs.ts';
import { TaskQueue } from './task-queue.ts';
import { failureOf, reportOf } from './task-report.ts';
import { TaskRun } from './task-run.ts';
import type { RunEnvironment } from './task-run.ts';
import { UnloggedEnds } from './unlogged-ends.ts';
import { unwantedWatch } from './unwanted-watch.ts';

export interface LocalWorkerOptions {
  engine: Pick<
    Engine,
    | 'claim'
    | 'report'
    | 'reportAndClaim'
    | 'progress'
    | 'getTask'
    | 'onReady'
    | 'offerToClaim'
    | 'release'
    | 'heartbeat'
    | 'appendLogs'
  >;
  registry: ExecutorRegistry;
  /** Tells which runs are no longer wanted; by default the engine. */
  control?: TaskControl;
  /** Lanes to claim from; those of the registry's kinds by default. */
  lanes?: readonly string[];
  holder: string;
  /** Concurrent executors, 24 by default. Those that return at once do not count. */
  concurrency?: number;
  /** Maximum size of one claim or report, 1,000 by default. */
  maxSet?: number;
  /** Concurrent claims and reports, 2 each by default. */
  claimsUnderWay?: number;
  reportsUnderWay?: number;
  /** Poll interval without notifications. */
  intervalMs: number;
  /**
   * Lease of its claims without a heartbeat, ms: when it expires after a crash, other workers continue. Default: the
   * deadline.
   */
  leaseMs?: number | undefined;
  /** Whether its tasks need their trace context to propagate while tracing is off. */
  traced?: boolean;
  /** Interval for looking up tasks whose executors listen to their signal; 5,000 ms by default. */
  watchIntervalMs?: number;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Time that executors have after their signal at a stop, and reports after that, milliseconds. */
const ABORT_GRACE_MS = 1000;
const REPORT_GRACE_MS = 5000;
const PROGRESS_SET_MAX = 500;
const PROGRESS_WAITING_MAX = 100_000;

/**
 * Runs tasks in this process: claims sets ahead of its executors, runs them with bounded concurrency and reports in
 * sets while the next claim runs.
 */
export class LocalWorker {
  readonly #options: LocalWorkerOptions;
  readonly #concurrency: number;
  readonly #maxSet: number;
  readonly #claimsMax: number;
  readonly #lanes: readonly string[];
  readonly #outbox: ReportOutbox;
  readonly #slots: ExecutionSlots;
  readonly #watch: Loop;
  readonly #keeper: Loop | null;
  readonly #environment: RunEnvironment;
  readonly #queue = new TaskQueue();
  readonly #runs = new Set<TaskRun>();
  readonly #unlogged = new UnloggedEnds<TaskRun>();
  readonly #claims = new Set<Promise<unknown>>();
  /** Claimed, and no longer to be completed here. */
  readonly #unfinished: ClaimedTask[] = [];
  /** Tasks that the running claims may still return. */
  #asked = 0;
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new';
  /** Tasks may be ready that no claim has checked for. */
  #woken = false;
  /** The last claim was full, so the next one is worth sending at once. */
  #flowing = false;
  /** A claim failed; the next one waits for the poll. */
  #paused = false;
  /** Failed claims since the last successful one. */
  #failures = 0;
  #unsubscribe: (() => void) | undefined;
  #withdraw: (() => void) | undefined;
  #cancelPoll: (() => void) | undefined;

  constructor(options: LocalWorkerOptions) {
    const { clock, random, log, engine } = options;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 24;
    this.#maxSet = options.maxSet ?? 1000;
    this.#claimsMax = options.claimsUnderWay ?? 2;
    this.#lanes = options.lanes ?? options.registry.lanes();
    this.#slots = new ExecutionSlots({
      concurrency: this.#concurrency,
      aheadMax: this.#maxSet * this.#claimsMax,
      clock,
      running: () => this.#runs.size,
      startNext: () => this.#startNext(),
      onEnded: () => this.#claimMore(),
      isIdle: () => this.#runs.size === 0 && (this.#queue.size === 0 || this.#state === 'stopped'),
    });
    this.#outbox = new ReportOutbox({
      engine,
      maxSet: this.#maxSet,
      maxUnderWay: options.reportsUnderWay ?? 2,
      clock,
      random,
      log,
      onRoom: () => this.#claimMore(),
      claimAlong: () => this.#claimAlong(),
    });
    const progress = new Coalescer<ProgressReport, ProgressResult>({
      flush: (reports) => engine.progress(reports),
      maxItems: PROGRESS_SET_MAX,
      maxWaiting: PROGRESS_WAITING_MAX,
    });
    const logs = new TaskLogs({ store: (chunks) => engine.appendLogs(chunks), clock, log });
    this.#environment = { log, progress, logs };
    this.#watch = unwantedWatch({
      control: options.control ?? engineControl(engine),
      runs: () => this.#runs,
      onUnwanted: (run, reason) => run.abort(reason),
      intervalMs: options.watchIntervalMs ?? 5000,
      clock,
      log,
    });
    const { leaseMs } = options;
    const held = { runs: this.#runs, waiting: this.#queue, onLost: (task: ClaimedTask) => this.#letGo(task) };
    this.#keeper = leaseMs === undefined ? null : leaseKeeper({ engine, ...held, leaseMs, clock, log });
  }

  /** Running executors. */
  get running(): number {
    return this.#runs.size;
  }

  /** Starts claiming. A worker runs once: after a stop, create another one. */
  start(): void {
    if (this.#state !== 'new') throw new Error('a worker can be started only once');
    this.#state = 'running';
    if (this.#lanes.length === 0) return;
    this.#unsubscribe = this.#options.engine.onReady(this.#lanes, () => this.wake());
    this.#withdraw = this.#options.engine.offerToClaim(this.#lanes, () => this.#claimAlong());
    this.#watch.start();
    this.#keeper?.start();
    this.#poll();
  }

  wake(): void {
    this.#woken = true;
    this.#claimMore();
  }

  /**
   * Stops claiming, lets claimed tasks finish within the grace period, then aborts their signals. Tasks that still have
   * not succeeded, and those that have not started, are released: other workers can run them at once, as their next
   * attempt.
   */
  async stop(graceMs: number): Promise<void> {
    this.#state = 'stopping';
    this.#unsubscribe?.();
    this.#withdraw?.();
    this.#cancelPoll?.();
    await this.#watch.stop();
    await Promise.all(this.#claims);
    await this.#slots.idleWithin(graceMs);
    this.#state = 'stopped';
    for (const run of this.#runs) run.abort('the worker stopped');
    if (this.#runs.size > 0) await this.#slots.idleWithin(ABORT_GRACE_MS);
    for (const run of this.#runs) this.#unfinished.push(run.task);
    this.#runs.clear();
    for (let task = this.#queue.shift(); task !== undefined; task = this.#queue.shift()) this.#unfinished.push(task);
    const unlogged = await this.#unlogged.giveUpAfter(this.#options.clock, REPORT_GRACE_MS);
    this.#unfinished.push(...unlogged.map(({ task }) => task));
    await this.#environment.progress.drain();
    await this.#keeper?.stop();
    await this.#handBack(this.#unfinished);
    const lost = await this.#outbox.close(REPORT_GRACE_MS);
    if (lost > 0) this.#options.log.error({ lost }, 'reports not stored before the worker stopped');
  }

  /** For a task that ended before it started here: releases what its attempt holds. */
  #letGo(task: ClaimedTask): void {
    if (this.#queue.remove(task)) void this.#handBack([task]);
  }

  /** Tasks that cannot be released end by their lease or their deadline. */
  async #handBack(unfinished: readonly ClaimedTask[]): Promise<void> {
    const { engine, log } = this.#options;
    const tasks = unfinished.map(({ id: task_id, attempt }) => ({ task_id, attempt }));
    for (let at = 0; at < tasks.length; at += this.#maxSet) {
      const set = tasks.slice(at, at + this.#maxSet);
      await engine.release(set).catch((error: unknown) => {
        log.error({ err: error, tasks: set.length }, 'could not release tasks');
      });
    }
  }

  #poll(): void {
    this.#paused = false;
    this.wake();
    this.#cancelPoll = this.#options.clock.after(this.#options.intervalMs, () => this.#poll());
  }

  /**
   * Number of tasks to claim now; 0 while it is too small: half of the tasks held ahead must be finished, so that
   * claims form sets.
   */
  #wanted(): number {
    const { ahead } = this.#slots;
    const wanted = this.#concurrency + ahead - this.#runs.size - this.#queue.size - this.#asked;
    return wanted < Math.max(1, ahead >> 1) ? 0 : Math.min(wanted, this.#maxSet);
  }

  /** Finished tasks often make others ready: the claim of those is combined with the reports. */
  #claimAlong(): ClaimAlong | null {
    const limit = this.#state === 'running' && !this.#paused ? this.#wanted() : 0;
    if (limit === 0) return null;
    this.#asked += limit;
    this.#woken = false;
    const landed = Promise.withResolvers<undefined>();
    this.#claims.add(landed.promise);
    return {
      request: this.#request(limit),
      arrived: (tasks) => {
        this.#asked -= limit;
        this.#claims.delete(landed.promise);
        this.#flowing = tasks !== null && tasks.length >= limit;
        if (tasks !== null) this.#queue.push(tasks);
        landed.resolve(undefined);
        this.#slots.fill();
        this.#claimMore();
      },
    };
  }

  #claimMore(): void {
    while (this.#mayClaim()) {
      const wanted = this.#wanted();
      if (wanted === 0) return;
      this.#woken = false;
      const claim = this.#claim(wanted).finally(() => {
        this.#claims.delete(claim);
        this.#slots.fill();
        this.#claimMore();
      });
      this.#claims.add(claim);
    }
  }

  #mayClaim(): boolean {
    if (this.#state !== 'running' || this.#paused || this.#claims.size >= this.#claimsMax) return false;
    // A database that does not accept reports is not asked for more work.
    return (this.#woken || this.#flowing) && this.#outbox.waiting + this.#unlogged.size < 2 * this.#maxSet;
  }

  #request(limit: number): ClaimRequest {
    const { holder, leaseMs, traced = false } = this.#options;
    return { lanes: this.#lanes, limit, holder, traced, ...(leaseMs === undefined ? {} : { lease_ms: leaseMs }) };
  }

  async #claim(limit: number): Promise<void> {
    this.#asked += limit;
    try {
      const tasks = await this.#options.engine.claim(this.#request(limit));
      this.#flowing = tasks.length >= limit;
      this.#failures = 0;
      this.#queue.push(tasks);
    } catch (error) {
      this.#flowing = false;
      this.#paused = true;
      this.#failures += 1;
      this.#printFailure(error);
    } finally {
      this.#asked -= limit;
    }
  }

  /** With growing intervals: each worker tries again at every poll, however long the outage. */
  #printFailure(error: unknown): void {
    const failures = this.#failures;
    if (!Number.isInteger(Math.log2(failures))) return;
    this.#options.log.error({ err: error, failures }, 'claim failed; retrying at the next poll');
  }

  #startNext(): 'running' | 'ended' | 'none' {
    const task = this.#state === 'stopped' ? undefined : this.#queue.shift();
    if (task === undefined) return 'none';
    return this.#execute(task) ? 'ended' : 'running';
  }

  /** Starts one task; returns true if it ended at once. */
  #execute(task: ClaimedTask): boolean {
    const executor = this.#options.registry.executorOf(task.kind);
    if (executor === undefined) {
      this.#outbox.push(failureOf(task, missingKind(task.kind)));
      return true;
    }
    const run = new TaskRun(task, this.#environment);
    try {
      const returned = executor(task, run);
      if (!isThenable(returned)) return this.#endAtOnce(run, reportOf(task, returned));
      this.#runs.add(run);
      returned.then(
        (result) => this.#finish(run, reportOf(task, result)),
        (error: unknown) => this.#finish(run, failureOf(task, reasonOf(error))),
      );
      return false;
    } catch (error) {
      return this.#endAtOnce(run, failureOf(task, reasonOf(error)));
    }
  }

  #endAtOnce(run: TaskRun, report: Report): true {
    this.#reportWithLog(run, report);
    return true;
  }

  /** A small log goes along with the report; a large one is stored before it. */
  #reportWithLog(run: TaskRun, report: Report): void {
    const log = run.takeLog();
    if (log !== null) report.log = log;
    const logged = log === null ? run.closeLog() : undefined;
    if (logged === undefined) this.#outbox.push(report);
    else this.#unlogged.add(run, logged, () => this.#outbox.push(report));
  }

  #finish(run: TaskRun, report: Report): void {
    // Ended too late; it was released at the stop.
    if (!this.#runs.delete(run)) return;
    if (this.#state === 'stopped' && report.outcome === 'failed') this.#unfinished.push(run.task);
    else this.#reportWithLog(run, report);
    this.#slots.fill();
    this.#slots.noteEnded(1);
  }
}

function missingKind(kind: string): string {
  const remedy =
    kind === 'Command'
      ? 'set HEDDLE_COMMANDS where it runs'
      : 'name the module that defines it (--module), or correct the kind of the task';
  return `no kind ${kind} in this process: ${remedy}`;
}

function isThenable(value: ExecutorResult | Promise<ExecutorResult>): value is Promise<ExecutorResult> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
