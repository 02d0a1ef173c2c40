import { kindExecutor, type KindTools } from '../../dispatch/kind/in-process.ts';
import { LocalWorker } from '../../dispatch/local-worker.ts';
import { heartbeatControl } from '../../dispatch/task-control.ts';
import { ExecutorRegistry, type Executor, type TaskContext } from '../../dispatch/executor-registry.ts';
import type { Engine } from '@heddle/core/engine/port';
import { type KindDefinition, RunnersLost } from '@heddle/kit';
import type { GrantedRunner, Orders } from '@heddle/core/pool/port/store';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import { watchedEngine, type Attempt, type WorkerEngine } from './task-watch.ts';

export interface RunnerDutyOptions {
  engine: WorkerEngine & Pick<Engine, 'createNodes' | 'readResults'>;
  kinds: readonly KindDefinition[];
  holder: string;
  leaseMs: number;
  /** Poll interval for its task if it is not woken, milliseconds. */
  intervalMs: number;
  clock: Clock;
  random: Random;
  log: Logger;
  tracing: Tracing;
  results?: NonNullable<KindTools['results']>;
  secrets?: NonNullable<KindTools['secrets']>;
  artifacts?: NonNullable<KindTools['artifacts']>;
  /** The task of this claim is settled, so the runner is free. */
  onDone: (epoch: number) => void;
  /** The handlers of a claim that was revoked have ended. */
  onFree: () => void;
  /** A handler is still running long after its claim was revoked, so this process cannot be used again. */
  onStuck: () => void;
}

/** Grace period of a handler after its claim was revoked, milliseconds. */
const HANDLER_GRACE_MS = 5_000;
/** Interval of the heartbeats that find out whether its task is still wanted. */
const WATCH_MS = 2_000;

/** Executes the tasks of a runner: the task in its lane, one at a time. */
export class RunnerDuty {
  readonly #options: RunnerDutyOptions;
  readonly #registry = new ExecutorRegistry();
  #worker: LocalWorker | null = null;
  #claim: { epoch: number; taskId: string; loss: AbortController } | null = null;
  /** Resolves when revoked tasks have been handed back; the next task waits for it. */
  #handedBack: Promise<void> = Promise.resolve();
  #stopped = false;
  readonly #running = new Set<Promise<unknown>>();
  /** Number of tasks that this runner completed or handed back. */
  settled = 0;

  constructor(options: RunnerDutyOptions) {
    this.#options = options;
    for (const kind of options.kinds)
      this.#registry.register(kind.name, this.#tracked(kindExecutor(kind, options.engine, options)));
  }

  /** Whether a handler is running, of the current claim or an earlier one. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Wraps an executor to track its runs until they have ended, even if their tasks were taken away. */
  #tracked(executor: Executor): Executor {
    return (task, context) => {
      const loss = this.#claim?.taskId === task.id ? this.#claim.loss.signal : undefined;
      const result = executor(task, loss === undefined ? context : withLoss(context, loss));
      if (!(result instanceof Promise)) return result;
      this.#running.add(result);
      const leave = (): void => {
        this.#running.delete(result);
        if (this.#claim === null && !this.isBusy) this.#options.onFree();
      };
      result.then(leave, leave);
      return result;
    };
  }

  /** Starts a claim: the first runner of a task runs it, the others are at its disposal. */
  begin({ number, epoch, task_id: taskId }: Orders): void {
    this.#claim = taskId === null ? null : { epoch, taskId, loss: new AbortController() };
    if (taskId === null) return;
    void this.#handedBack.then(() => {
      if (this.#stopped || this.#claim?.epoch !== epoch) return;
      if (this.#worker === null) {
        this.#worker = this.#open(number);
        this.#worker.start();
      } else this.#worker.wake();
    });
  }

  /** Notifies the handler that other runners of its task are gone; the handler decides whether to continue. */
  losePeers(epoch: number, lost: readonly GrantedRunner[]): void {
    if (this.#claim?.epoch !== epoch) return;
    const { loss, taskId } = this.#claim;
    const runners = lost.map(({ id, number, instance_type, address }) => ({ id, number, instance_type, address }));
    this.#options.log.warn({ task_id: taskId, runners }, 'task lost runners');
    const reason = loss.signal.reason as unknown;
    if (reason instanceof RunnersLost) reason.add(runners);
    else loss.abort(new RunnersLost(runners));
  }

  /** Ends a claim that was revoked: aborts its task and hands it back. */
  revoke(): Promise<void> {
    this.#claim = null;
    const left = [...this.#running];
    this.#options.clock.after(HANDLER_GRACE_MS, () => {
      if (left.some((run) => this.#running.has(run))) this.#options.onStuck();
    });
    return this.#stopWorker(0);
  }

  /** Stops: tasks that do not end within `graceMs` are handed back, and none are started. */
  stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    return this.#stopWorker(graceMs);
  }

  #stopWorker(graceMs: number): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    if (worker !== null) this.#handedBack = this.#handedBack.then(() => worker.stop(graceMs));
    return this.#handedBack;
  }

  #open(number: number): LocalWorker {
    const { engine, holder, leaseMs, intervalMs, clock, random, log } = this.#options;
    return new LocalWorker({
      engine: watchedEngine(engine, (attempts) => this.#recordSettled(attempts)),
      control: heartbeatControl(engine),
      watchIntervalMs: WATCH_MS,
      registry: this.#registry,
      lanes: [`runner:${number}`],
      holder,
      concurrency: 1,
      maxSet: 1,
      claimsUnderWay: 1,
      intervalMs,
      leaseMs,
      traced: true,
      clock,
      random,
      log,
    });
  }

  #recordSettled(attempts: readonly Attempt[]): void {
    this.settled += attempts.length;
    const claim = this.#claim;
    if (claim === null || attempts.every(({ task_id }) => task_id !== claim.taskId)) return;
    this.#claim = null;
    this.#options.onDone(claim.epoch);
  }
}

/** Adds the signal for lost runners to the context of a task. */
function withLoss(context: TaskContext, runnerLost: AbortSignal): TaskContext {
  return {
    get signal() {
      return context.signal;
    },
    get log() {
      return context.log;
    },
    get output() {
      return context.output;
    },
    traceparent: context.traceparent,
    progress: (newSuccess, newFailures) => context.progress(newSuccess, newFailures),
    runnerLost,
  };
}
