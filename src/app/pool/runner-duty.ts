import { kindExecutor } from '../../dispatch/kind/in-process.ts';
import { LocalWorker } from '../../dispatch/local-worker.ts';
import { Switchboard, type Executor, type TaskContext } from '../../dispatch/switchboard.ts';
import type { TransactionalEngine } from '../../engine/engine.ts';
import type { KindDefinition } from '../../kinds/definition/define-kind.ts';
import { RunnersLost } from '../../kinds/definition/runners-lost.ts';
import type { GrantedRunner, Orders } from '../../pool/port/store.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Random } from '../../runtime/random.ts';
import type { Tracing } from '../../runtime/trace.ts';
import { watchedEngine, type Attempt } from './task-watch.ts';

export interface RunnerDutyOptions {
  engine: TransactionalEngine;
  kinds: readonly KindDefinition[];
  holder: string;
  leaseMs: number;
  /** How often it looks for its task without having been woken. */
  intervalMs: number;
  clock: Clock;
  random: Random;
  log: Logger;
  tracing: Tracing;
  /** The task of this claim is settled: the runner is free. */
  onDone: (epoch: number) => void;
  /** The handlers of a claim that was revoked have ended. */
  onFree: () => void;
  /** A handler goes on though its claim was revoked a while ago: this process is of no more use. */
  onStuck: () => void;
}

/** Time that a handler has to end once its claim is revoked, milliseconds. */
const HANDLER_GRACE_MS = 5_000;

/** What a runner does for whom it was claimed: runs the task that stands in its lane, one at a time. */
export class RunnerDuty {
  readonly #options: RunnerDutyOptions;
  readonly #switchboard = new Switchboard();
  #worker: LocalWorker | null = null;
  #claim: { epoch: number; taskId: string; loss: AbortController } | null = null;
  /** What was taken away is handed back before anything else begins. */
  #handedBack: Promise<void> = Promise.resolve();
  #stopped = false;
  readonly #underWay = new Set<Promise<unknown>>();
  /** Tasks that this runner has run to their end, or handed back. */
  settled = 0;

  constructor(options: RunnerDutyOptions) {
    this.#options = options;
    for (const kind of options.kinds)
      this.#switchboard.register(kind.name, this.#noted(kindExecutor(kind, options.engine, options.tracing)));
  }

  /** Whether a handler is under way, of a claim that still stands or of an earlier one. */
  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** An executor whose runs are known until they have really ended, whatever becomes of their tasks. */
  #noted(executor: Executor): Executor {
    return (task, context) => {
      const loss = this.#claim?.taskId === task.id ? this.#claim.loss.signal : undefined;
      const result = executor(task, loss === undefined ? context : withLoss(context, loss));
      if (!(result instanceof Promise)) return result;
      this.#underWay.add(result);
      const leave = (): void => {
        this.#underWay.delete(result);
        if (this.#claim === null && !this.isBusy) this.#options.onFree();
      };
      result.then(leave, leave);
      return result;
    };
  }

  /** It was claimed; where it is the first runner of a task it runs that, else it is at the disposal of others. */
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

  /** Others of the runners that its task has are gone: the handler hears of it, and decides whether it goes on. */
  losePeers(epoch: number, lost: readonly GrantedRunner[]): void {
    if (this.#claim?.epoch !== epoch) return;
    const { loss, taskId } = this.#claim;
    const runners = lost.map(({ id, number, instance_type, address }) => ({ id, number, instance_type, address }));
    this.#options.log.warn({ task_id: taskId, runners }, 'The task has lost runners');
    const reason = loss.signal.reason as unknown;
    if (reason instanceof RunnersLost) reason.add(runners);
    else loss.abort(new RunnersLost(runners));
  }

  /** The claim is over from outside: what still runs is aborted and handed back. */
  revoke(): Promise<void> {
    this.#claim = null;
    const left = [...this.#underWay];
    this.#options.clock.after(HANDLER_GRACE_MS, () => {
      if (left.some((run) => this.#underWay.has(run))) this.#options.onStuck();
    });
    return this.#stopWorker(0);
  }

  /** Lets what runs end within the grace, milliseconds, and hands back what does not; nothing begins any more. */
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
      engine: watchedEngine(engine, (attempts) => this.#noteSettled(attempts)),
      switchboard: this.#switchboard,
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

  #noteSettled(attempts: readonly Attempt[]): void {
    this.settled += attempts.length;
    const claim = this.#claim;
    if (claim === null || attempts.every(({ task_id }) => task_id !== claim.taskId)) return;
    this.#claim = null;
    this.#options.onDone(claim.epoch);
  }
}

/** The context of a task that has several runners. */
function withLoss(context: TaskContext, runnerLost: AbortSignal): TaskContext {
  return {
    get signal() {
      return context.signal;
    },
    get log() {
      return context.log;
    },
    traceparent: context.traceparent,
    progress: (newSuccess, newFailures) => context.progress(newSuccess, newFailures),
    runnerLost,
  };
}
