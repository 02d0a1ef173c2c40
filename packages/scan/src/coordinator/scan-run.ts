import { HeddleError, type ErrorCode } from '@heddle/base/errors';
import { silentLogger, type Logger } from '@heddle/base/logger';
import { errorOf, messageOf } from '@heddle/base/thrown';
import type { CompiledRules } from '../detect/packed-rules.ts';
import { CountBudget } from '../graph/count-budget.ts';
import { ObjectFrontier } from '../graph/frontier.ts';
import { liveCounts } from '../graph/live.ts';
import { addPackedMetrics, mergeMetrics } from '../graph/metrics.ts';
import type { ScanOptions } from '../options.ts';
import { pathFilter } from '../path-filter.ts';
import type { Finding, Problem, ScanProgress, ScanSummary, TaskMetrics } from '../result.ts';
import type { ObjectSource } from '../source/port.ts';
import { CONTROL, type FromWorker } from '../worker/protocol.ts';
import { COMPLETED_ROW } from '../worker/result-outbox.ts';
import { Discovery } from './discovery.ts';
import { Dispatcher } from './dispatcher.ts';
import { Divisions } from './divisions.ts';
import { classifyLosses } from './losses.ts';
import { measureObject } from './measure-object.ts';
import type { NumberedObject } from './numbered-object.ts';
import type { ScanEnvironment, ScanObserver } from './observer.ts';
import { ReorderBuffer } from './reorder-buffer.ts';
import { ResultReporter } from './result-reporter.ts';
import { progressOf, summaryOf, totalOf } from './run-figures.ts';
import type { RunJournal } from './run-journal.ts';
import type { Checkpoint } from './state-journal.ts';
import { workerInit } from './worker-init.ts';
import type { StartWorker, WorkerThread } from './worker-thread.ts';
import { slotsOf, Workers } from './workers.ts';

const PROGRESS_MS = 250;

/** Rules that may each exhaust their time on one chunk before the thread counts as hung. */
const SLOW_RULES = 10;
const HANG_SLACK_MS = 5000;

/** Coordinates one scan from its sources to its summary. */
export class ScanRun {
  readonly #options: ScanOptions;
  readonly #observer: ScanObserver;
  readonly #passes: (path: string) => boolean;
  readonly #reporter: ResultReporter;
  readonly #environment: ScanEnvironment;
  readonly #log: Logger;
  readonly #journal: RunJournal | null;
  readonly #budget: CountBudget;
  readonly #control: Int32Array<SharedArrayBuffer>;
  readonly #discovery: Discovery;
  readonly #dispatcher: Dispatcher;
  readonly #divisions = new Divisions();
  readonly #workers: Workers;
  readonly #results: ReorderBuffer;
  readonly #metricsBefore: TaskMetrics;
  readonly #ended = Promise.withResolvers<null>();
  #abortReason: string | null = null;
  /** Why there is no summary. */
  #failure: unknown = null;
  #isPumping = false;
  #stopTimer: () => void = () => undefined;

  constructor(
    options: ScanOptions,
    rules: CompiledRules,
    sources: readonly ObjectSource[],
    observer: ScanObserver,
    environment: ScanEnvironment,
    journal: RunJournal | null,
    beginning: Checkpoint,
    local?: StartWorker,
  ) {
    this.#options = options;
    this.#observer = observer;
    this.#passes = pathFilter(options);
    this.#reporter = new ResultReporter(observer, { isWanted: this.#passes, confidence: options.confidence }, (error) =>
      this.#fail(error),
    );
    this.#environment = environment;
    this.#log = environment.log ?? silentLogger;
    this.#journal = journal;
    this.#metricsBefore = beginning.metrics;
    const { threads, archives, frontierCapacity } = options;
    const depthMax = archives.enabled ? archives.depthMax : 0;
    this.#budget = CountBudget.create(frontierCapacity, slotsOf(threads) + 1);
    this.#control = new Int32Array(new SharedArrayBuffer((CONTROL.FIRST + slotsOf(threads) * CONTROL.PER_WORKER) * 4));
    const frontier = new ObjectFrontier(this.#budget, depthMax);
    this.#dispatcher = new Dispatcher(this.#budget, frontier, threads);
    this.#results = this.#reorder(beginning.next_index);
    this.#discovery = this.#discover(sources, frontier, beginning);
    const watching = {
      threads,
      entry: environment.workerEntry,
      local,
      step_ms_max: SLOW_RULES * options.ruleTimeoutMs + HANG_SLACK_MS,
      clock: environment.clock,
      work_bytes_min: environment.workBytesMin,
    };
    const shared = { rules, depthMax, budget: this.#budget.memory, control: this.#control.buffer };
    this.#workers = new Workers(watching, this.#control, (slot) => workerInit(options, environment, shared, slot), {
      message: (worker, message) => this.#receive(worker, message),
      lost: (worker, current, why, hung) => this.#lost(worker, current, why, hung),
      allClosed: () => this.#ended.resolve(null),
    });
  }

  /** Runs the scan. Rejects if it cannot be done at all: rules that do not compile, an observer that threw. */
  async run(startedAt: number): Promise<ScanSummary> {
    const { clock, signal } = this.#environment;
    const onAbort = (): void => this.abort('it was stopped');
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#workers.start();
    this.#tick();
    if (signal?.aborted === true) onAbort();
    this.#pump();
    await this.#ended.promise;
    if (this.#abortReason !== null && this.#failure === null) await this.#results.deliverRest();
    if (this.#failure === null) await this.#settleObserver();
    signal?.removeEventListener('abort', onAbort);
    this.#stopTimer();
    this.#environment.onThreadEnd?.(liveCounts());
    if (this.#budget.inUse !== 0) this.#log.error({ permits: this.#budget.inUse }, 'permits were not released');
    if (this.#failure !== null) throw errorOf(this.#failure);
    if (this.#abortReason === null) this.#journal?.complete();
    this.#observer.onProgress?.(this.#progress());
    return this.#summary(clock.monotonic() - startedAt);
  }

  async #settleObserver(): Promise<void> {
    try {
      await this.#observer.settle?.();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Replays the findings of an interrupted run before its resume point to the observer. */
  async replay(parts: Iterable<{ findings: readonly Finding[]; problems: readonly Problem[] }>): Promise<void> {
    for (const { findings, problems } of parts) {
      for (const finding of findings) await this.#reporter.finding(finding);
      for (const problem of problems) await this.#reporter.problem(problem);
    }
  }

  /** Aborts the run and drops all work in progress. The first reason counts. */
  abort(reason: string): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    Atomics.store(this.#control, CONTROL.ABORT, 1);
    this.#discovery.executor.abort();
    this.#dispatcher.abort();
    this.#divisions.abort();
    this.#workers.close();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.abort('it failed');
  }

  /** Runs one round of the coordinator: lists while capacity is left, and hands out what was found. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    const { executor } = this.#discovery;
    do {
      while (executor.runOne());
      this.#results.deliver();
    } while (executor.canRun);
    if (this.#abortReason === null) {
      this.#handOut();
      if (this.#isFinished()) this.#workers.close();
    }
    void this.#reporter.guarded(() => this.#journal?.flush());
    this.#isPumping = false;
  }

  /** If too many results wait for the oldest object, handles it first and begins nothing else. */
  #handOut(): void {
    const { isFull, next } = this.#results;
    Atomics.store(this.#control, CONTROL.BEGIN_BELOW, isFull ? next + 1 : 0);
    if (isFull) this.#dispatcher.dispatchOldest(this.#workers.all, next);
    else this.#dispatcher.dispatch(this.#workers.all, this.#discovery.executor.isStalled || this.#discovery.isDone);
    this.#divisions.assign(this.#workers.all);
  }

  #isFinished(): boolean {
    return (
      this.#discovery.isDone &&
      this.#dispatcher.waiting === 0 &&
      this.#workers.all.every(({ outstanding }) => outstanding.size === 0) &&
      this.#results.next === this.#discovery.found
    );
  }

  #receive(worker: WorkerThread, message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        this.#workers.ready(worker);
        break;
      case 'results':
        this.#take(worker, message);
        break;
      case 'handed_back':
        if (message.busy_with !== null && worker.outstanding.has(message.busy_with))
          worker.busyWith = message.busy_with;
        if (this.#abortReason === null) this.#dispatcher.takeBack(worker, message.index);
        break;
      case 'divided':
      case 'segment':
      case 'helped':
        this.#divisions.receive(worker, message);
        break;
      case 'fail_run':
        this.abort(`${message.problem.path}: ${message.problem.message}`);
        break;
      case 'explained':
        this.#environment.explain?.onExplained(message.explanation);
        break;
      case 'unable':
        worker.hasClosed = true;
        this.#fail(unableError(message));
        break;
      case 'defect':
        this.#fail(new Error(`scan: a worker failed: ${message.message}`));
        break;
      case 'closed':
        worker.hasClosed = true;
        this.#workers.countFinally(worker, worker.sent, message.metrics);
        this.#budget.reclaim(worker.slot + 1);
        // What the own thread holds is reported at its end.
        if (!worker.isLocal) this.#environment.onThreadEnd?.(message.live);
    }
    this.#discovery.executor.wake();
    this.#pump();
  }

  #take(worker: WorkerThread, { parts, completed }: Extract<FromWorker, { type: 'results' }>): void {
    for (const { index, findings, problems } of parts) {
      this.#journal?.part(index, findings, problems);
      this.#results.add(index, findings, problems);
    }
    for (let row = 0; row < completed.length; row += COMPLETED_ROW) {
      const index = completed[row]!;
      const object = worker.outstanding.get(index);
      if (object === undefined) continue;
      worker.outstanding.delete(index);
      this.#divisions.completed(index);
      if (worker.busyWith === index) worker.busyWith = null;
      this.#workers.count(worker, completed, row + 1);
      addPackedMetrics(worker.sent, completed, row + 1);
      this.#journal?.completed(index, object.path, completed.subarray(row + 1, row + COMPLETED_ROW));
      this.#results.complete(index);
    }
    this.#results.deliver();
  }

  #lost(worker: WorkerThread, current: number, why: string, hung: boolean): void {
    this.#budget.reclaim(worker.slot + 1);
    this.#divisions.lost(worker);
    if (this.#abortReason !== null) return;
    if (!worker.isReady) {
      this.#fail(new Error(`scan: a worker thread could not start: ${why}`));
      return;
    }
    this.#log.warn({ slot: worker.slot, why, hung }, 'scan worker thread exited early; replacing it');
    const { named, again } = classifyLosses([...worker.outstanding.values()], current, why, hung);
    worker.outstanding.clear();
    for (const { object, problem } of named) this.#giveUp(object, problem);
    for (const { index } of again) {
      this.#journal?.restart(index);
      this.#results.restart(index);
    }
    this.#discovery.again(again);
    this.#results.deliver();
    this.#pump();
  }

  /** Ends the object with the findings so far. */
  #giveUp(object: NumberedObject, problem: Problem): void {
    this.#settle(object.index, object.path, [problem]);
  }

  #settle(index: number, path: string, problems: readonly Problem[]): void {
    this.#journal?.part(index, [], problems);
    this.#journal?.completed(index, path, null);
    this.#results.add(index, [], problems);
    this.#results.complete(index);
  }

  #discover(sources: readonly ObjectSource[], frontier: ObjectFrontier, beginning: Checkpoint): Discovery {
    const options = {
      objectBytesMax: this.#options.objectBytesMax,
      from: beginning.position,
      next_index: beginning.next_index,
    };
    return new Discovery(sources, frontier, options, {
      admitted: (admitted) => {
        const { object } = admitted;
        if (this.#workers.needSizes) measureObject(object, this.#options.sources[object.source]!);
        this.#dispatcher.add(admitted);
        this.#workers.expect(object.size_hint);
      },
      problems: (index, problems) => {
        this.#settle(index, '', problems);
        this.#results.deliver();
      },
      isKnown: (object) => this.#isKnown(object),
      boundary: (boundary) => this.#journal?.boundary(boundary),
      isHeld: () => this.#results.isFull,
      isDelivered: (end) => this.#results.next === end,
      passes: this.#passes,
      ready: () => this.#pump(),
      failed: (source, error) => this.#sourceFailed(source, error),
    });
  }

  /** Adopts the results that an interrupted run recorded for an object. */
  #isKnown(object: NumberedObject): boolean {
    const known = this.#journal?.known(object.index, object.path) ?? null;
    if (known === null) return false;
    mergeMetrics(this.#metricsBefore, known.metrics);
    this.#results.add(object.index, known.findings, known.problems);
    this.#results.complete(object.index);
    return true;
  }

  #sourceFailed(source: ObjectSource | null, error: unknown): void {
    if (source === null) {
      this.#fail(error);
      return;
    }
    const text = messageOf(error);
    // Many messages begin with the name of their source.
    const message = text.startsWith(`${source.name}: `) ? text.slice(source.name.length + 2) : text;
    this.#results.add(
      this.#discovery.found,
      [],
      [{ code: 'source_failed', path: source.name, message, extent: 'partial' }],
    );
    this.abort(`${source.name}: ${message}`);
  }

  #reorder(next: number): ReorderBuffer {
    return new ReorderBuffer(
      {
        finding: (finding) => this.#reporter.finding(finding),
        problem: (problem) => this.#reporter.problem(problem),
        acknowledge: (index, count) => {
          const worker = this.#workers.all.find(({ outstanding }) => outstanding.has(index));
          worker?.post({ type: 'acknowledged', index, count });
        },
        advanced: (end) => {
          this.#journal?.advanced(end);
          this.#discovery.executor.wake();
        },
        failed: (error) => this.#fail(error),
      },
      next,
    );
  }

  #tick(): void {
    this.#stopTimer = this.#environment.clock.after(PROGRESS_MS, () => {
      this.#workers.watch();
      this.#observer.onProgress?.(this.#progress());
      this.#tick();
    });
  }

  #metrics(): TaskMetrics {
    return totalOf([this.#metricsBefore, this.#discovery.metrics, this.#workers.metrics]);
  }

  #progress(): ScanProgress {
    const first = this.#workers.all.map(({ outstanding }) => outstanding.values().next().value);
    const { isDone: discovery_done, status } = this.#discovery;
    const at = { in_flight: this.#budget.inUse, discovery_done, ...(status === null ? {} : { waiting_for: status }) };
    const metrics = this.#metrics();
    metrics.bytes_scanned += this.#workers.openBytes;
    return progressOf(metrics, this.#reporter, first, at);
  }

  #summary(duration_ms: number): ScanSummary {
    const figures = { metrics: this.#metrics(), frontier_peak: this.#budget.peak, duration_ms };
    return summaryOf(this.#abortReason, this.#reporter, figures);
  }
}

function unableError({ code, message, details }: Extract<FromWorker, { type: 'unable' }>): Error {
  return code === null ? new Error(message) : new HeddleError(code as ErrorCode, message, { details });
}
