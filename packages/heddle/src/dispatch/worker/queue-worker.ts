import type { Outcome } from '@heddle/base/vocabulary/task-state';
import type { MessageQueue } from '@heddle/core/queue/port';
import { backoffMs } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Random } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import { ExecutionSlots } from '../execution-slots.ts';
import { Completion } from '../kind/completion.ts';
import type { KindDefinition } from '@heddle/kit';
import { NO_RESULTS, type ResultReader } from '../kind/result-stream.ts';
import type { RunPorts } from '../kind/run-kind.ts';
import { runTraced } from '../kind/run-traced.ts';
import type { TaskControl } from '../task-control.ts';
import { TaskLogs, type TaskLogsOptions } from '../task-logs.ts';
import { unwantedWatch } from '../unwanted-watch.ts';
import type { Attempt } from './attempt.ts';
import { Conclusions } from './conclusions.ts';
import { Intake } from './intake.ts';
import { KindLane } from './kind-lane.ts';
import { ManagerSender } from './manager-sender.ts';
import { HeartbeatSender } from './heartbeat-sender.ts';

export interface QueueWorkerOptions {
  queue: MessageQueue;
  kinds: readonly KindDefinition[];
  /** Name of the worker. */
  worker: string;
  /** Concurrent handlers, 24 by default. */
  concurrency?: number;
  /** Returns which tasks are still wanted; null: only timeouts stop handlers. */
  control: TaskControl | null;
  /** Source of results for aggregators; null if there is none. */
  results: ResultReader | null;
  /** Secrets of inputs; null or absent if this worker has no database. */
  secrets?: RunPorts['secrets'];
  /** Files of tasks; null or absent if this worker cannot store them. */
  artifacts?: RunPorts['artifacts'];
  /** Stores what its tasks log; without it, their lines go to the log of this process only. */
  storeLogs?: TaskLogsOptions['store'];
  /** Lease of an attempt without a heartbeat; 60 s by default, like the engine's. */
  leaseMs?: number;
  /**
   * How long a message is hidden; longer than the lease, so that an expired attempt is known to have ended when it is
   * redelivered.
   */
  visibilityMs?: number;
  /** Longest wait of one receive. */
  waitMs?: number;
  announceMs?: number;
  checkMs?: number;
  /** Records a span of each run; none by default. */
  tracing?: Tracing;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Counts of a worker. */
export interface WorkerCounts {
  running: number;
  /** Received, waiting for a handler. */
  waiting: number;
  ended: Record<Outcome, number>;
}

const RECEIVE_MAX = 100;
/** Unsent reports beyond which nothing more is received. */
const UNSENT_MAX = 2000;
const BACKOFF = { base_ms: 100, factor: 2, max_ms: 5000, jitter: 0.5 };
/** Pause before polling a queue again that returns nothing at once. */
const EMPTY_PAUSE_MS = 5;
/** Time that handlers have after their signal at a stop, and messages after that. */
const ABORT_GRACE_MS = 1000;
const SEND_GRACE_MS = 5000;

/**
 * Runs tasks from queues, one queue per kind: receives no more than it can run, sends heartbeats while they run,
 * reports how they ended, and only then deletes their messages. A worker runs once: after a stop, create another one.
 */
export class QueueWorker {
  readonly #options: QueueWorkerOptions;
  readonly #concurrency: number;
  readonly #visibilityMs: number;
  readonly #lanes: readonly KindLane[];
  readonly #line: ManagerSender;
  readonly #intake: Intake;
  readonly #slots: ExecutionSlots;
  readonly #heartbeats: HeartbeatSender;
  readonly #services: readonly { start(): void; stop(): Promise<void> }[];
  readonly #running = new Map<Attempt, KindLane>();
  readonly #conclusions: Conclusions;
  readonly #receiving = new AbortController();
  #receivers: Promise<void>[] = [];
  #nextLane = 0;

  constructor(options: QueueWorkerOptions) {
    const { queue, kinds, clock, random, log, control } = options;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 24;
    const leaseMs = options.leaseMs ?? 60_000;
    this.#visibilityMs = options.visibilityMs ?? leaseMs * 1.5;
    this.#lanes = kinds.map((kind) => new KindLane(kind, this.#concurrency, queue, log));
    this.#line = new ManagerSender({ queue, clock, random, log });
    this.#slots = new ExecutionSlots({
      concurrency: this.#concurrency,
      aheadMax: RECEIVE_MAX * kinds.length,
      clock,
      running: () => this.#running.size,
      startNext: () => this.#startNext(),
      onEnded: () => this.#wakeLanes(),
      isIdle: () => this.#running.size === 0,
    });
    const giveUp = (lane: KindLane, attempt: Attempt): void =>
      this.#conclusions.conclude(lane, attempt, exceededDeliveries(attempt));
    const drop = (lane: KindLane, attempt: Attempt): void => this.#conclusions.drop(lane, attempt);
    const { storeLogs } = options;
    const logs = storeLogs === undefined ? null : new TaskLogs({ store: storeLogs, clock, log });
    this.#intake = new Intake({ control, clock, log, logs, giveUp, drop });
    this.#heartbeats = new HeartbeatSender({
      line: this.#line,
      running: this.#running,
      held: () => this.#held(),
      leaseMs,
      visibilityMs: this.#visibilityMs,
      onOverdue: (lane, attempt) => this.#conclusions.conclude(lane, attempt, new Completion('timed_out')),
      onStale: (lane, attempts) => void this.#handBack(lane, attempts),
      clock,
      log,
    });
    const onRoom = (): void => this.#wakeLanes();
    this.#conclusions = new Conclusions({
      line: this.#line,
      heartbeats: this.#heartbeats,
      intake: this.#intake,
      onRoom,
    });
    const announce = new Loop({
      name: 'announcement',
      intervalMs: options.announceMs ?? 10_000,
      clock,
      log,
      runOnce: () => this.#announce(),
    });
    this.#services = control === null ? [announce] : [announce, this.#watchUnwanted(control)];
  }

  #watchUnwanted(control: TaskControl): Loop {
    const { checkMs: intervalMs = 5000, clock, log } = this.#options;
    return unwantedWatch({
      control,
      runs: () => this.#running.keys(),
      onUnwanted: (attempt, reason) => attempt.end('unwanted', reason),
      intervalMs,
      clock,
      log,
    });
  }

  counts(): WorkerCounts {
    const waiting = this.#lanes.reduce((sum, lane) => sum + lane.backlog.length, 0);
    return { running: this.#running.size, waiting, ended: { ...this.#conclusions.counts } };
  }

  start(): void {
    if (this.#receivers.length > 0) throw new Error('a worker can be started only once');
    for (const service of this.#services) service.start();
    this.#heartbeats.start();
    this.#receivers = this.#lanes.map((lane) => this.#receive(lane));
  }

  /**
   * Stops receiving, releases tasks that have not started, lets the rest finish within the grace period, then aborts
   * the signals. Tasks that still have not ended are released, too, so that another worker takes them at once.
   */
  async stop(graceMs: number): Promise<void> {
    this.#receiving.abort(new Error('the worker is stopping'));
    // Awaited at the end: an announcement may be stuck in the sender, which is only then closed.
    const services = this.#services.map((service) => service.stop());
    await Promise.all(this.#receivers);
    await Promise.all(this.#lanes.map((lane) => this.#handBack(lane, lane.backlog)));
    await this.#slots.idleWithin(graceMs);
    for (const attempt of this.#running.keys()) attempt.end('handed_back', 'the worker is stopping');
    await this.#slots.idleWithin(ABORT_GRACE_MS);
    const left = [...this.#running].filter(([attempt]) => !attempt.settled);
    if (left.length > 0) this.#options.log.warn({ tasks: left.length }, 'released unfinished tasks');
    await Promise.all(left.map(([attempt, lane]) => this.#conclusions.handBack(lane, [attempt])));
    await this.#line.close(SEND_GRACE_MS);
    await this.#conclusions.settled();
    await Promise.all([...services, this.#heartbeats.stop()]);
  }

  async #announce(): Promise<'idle'> {
    const { kinds, worker } = this.#options;
    const names = kinds.map(({ name }) => name);
    await this.#line.post({ type: 'WorkerSeen', worker, kinds: names, concurrency: this.#concurrency });
    return 'idle';
  }

  async #receive(lane: KindLane): Promise<void> {
    const { queue, clock, random, log } = this.#options;
    const { signal } = this.#receiving;
    const receive = { wait_ms: this.#options.waitMs ?? 20_000, visibility_ms: this.#visibilityMs, signal };
    for (let failures = 0; !signal.aborted;) {
      const max = this.#room(lane);
      if (max < 1) {
        await lane.untilWoken(signal);
        continue;
      }
      try {
        const messages = await queue.receive(lane.queue, { max, ...receive });
        await this.#intake.take(lane, messages);
        failures = 0;
        this.#slots.fill();
        if (messages.length === 0) await clock.sleep(EMPTY_PAUSE_MS, signal);
      } catch (error) {
        failures += 1;
        log.error({ queue: lane.queue, err: error, failures }, 'could not read a queue');
        const delayMs = backoffMs(BACKOFF, failures, () => random.next());
        await clock.sleep(delayMs, signal);
      }
    }
  }

  /** Number of messages of a kind to request: what can run, what can run shortly, and a fair share of both. */
  #room(lane: KindLane): number {
    if (this.#conclusions.underWay >= UNSENT_MAX) return 0;
    const waiting = this.#lanes.reduce((sum, { backlog }) => sum + backlog.length, 0);
    const { ahead } = this.#slots;
    const free = this.#concurrency + ahead - this.#running.size - waiting;
    const own = lane.limit + Math.min(ahead, lane.limit) - lane.running - lane.backlog.length;
    const ownRoom = lane.limit < this.#concurrency ? own : free;
    return Math.min(Math.ceil(free / this.#lanes.length), ownRoom, RECEIVE_MAX);
  }

  /** The kinds in rotation. */
  #startNext(): 'running' | 'ended' | 'none' {
    const lane = this.#laneInTurn();
    if (lane === undefined) return 'none';
    return this.#begin(lane, lane.backlog.shift()!) ? 'ended' : 'running';
  }

  #laneInTurn(): KindLane | undefined {
    for (let tried = 0; tried < this.#lanes.length; tried += 1) {
      const lane = this.#lanes[this.#nextLane % this.#lanes.length]!;
      this.#nextLane += 1;
      if (lane.mayStart) return lane;
    }
    return undefined;
  }

  /** Starts one attempt; returns true if it ended at once. */
  #begin(lane: KindLane, attempt: Attempt): boolean {
    if (attempt.ending !== undefined) {
      this.#conclusions.conclude(lane, attempt, new Completion('failed'));
      return true;
    }
    attempt.begin();
    this.#heartbeats.beat(attempt);
    const { definition } = lane;
    const run = { definition, task: attempt.task, host: attempt, ports: this.#portsOf(attempt) };
    const completion = runTraced(this.#options.tracing ?? null, run);
    const logged = completion instanceof Completion ? attempt.closeLog() : undefined;
    if (completion instanceof Completion && logged === undefined) {
      this.#conclusions.conclude(lane, attempt, completion);
      return true;
    }
    this.#running.set(attempt, lane);
    lane.running += 1;
    void untilLogged(attempt, completion).then((each) => {
      this.#running.delete(attempt);
      lane.running -= 1;
      this.#conclusions.conclude(lane, attempt, each);
      this.#slots.fill();
      this.#slots.noteEnded(1);
    });
    return false;
  }

  /** Sent nodes and received results count as progress. */
  #portsOf(attempt: Attempt): RunPorts {
    const { secrets = null, artifacts = null } = this.#options;
    const results = this.#options.results ?? NO_RESULTS;
    return {
      secrets,
      artifacts,
      nodes: {
        send: async (creations) => {
          await this.#line.send(creations);
          attempt.noteActive();
        },
      },
      results: {
        stream: async function* (taskId, signal) {
          for await (const result of results.stream(taskId, signal)) {
            attempt.noteActive();
            yield result;
          }
        },
      },
    };
  }

  /** Removes attempts that waited too long from the backlog. */
  async #handBack(lane: KindLane, attempts: readonly Attempt[]): Promise<void> {
    const given = new Set(attempts);
    const kept = lane.backlog.filter((attempt) => !given.has(attempt));
    lane.backlog.splice(0, lane.backlog.length, ...kept);
    await this.#conclusions.handBack(lane, [...given]);
  }

  #held(): Map<KindLane, Attempt[]> {
    const held = new Map<KindLane, Attempt[]>(this.#lanes.map((lane) => [lane, []]));
    const laneOf = new Map(this.#lanes.map((lane) => [lane.definition.name, lane]));
    for (const attempt of this.#intake.attempts.values()) held.get(laneOf.get(attempt.start.task.kind)!)!.push(attempt);
    return held;
  }

  #wakeLanes(): void {
    for (const lane of this.#lanes) lane.wake();
  }
}

function exceededDeliveries(attempt: Attempt): Completion {
  const reason = `its message was delivered ${attempt.receiveCount} times, and no worker completed it`;
  return new Completion('failed', { reason });
}

/** An end must not be visible before its last log lines are stored. */
async function untilLogged(attempt: Attempt, running: Completion | Promise<Completion>): Promise<Completion> {
  const completion = await running;
  await attempt.closeLog();
  return completion;
}
