import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Attempt } from './attempt.ts';
import type { KindLane } from './kind-lane.ts';
import type { ManagerSender } from './manager-sender.ts';

export interface HeartbeatSenderOptions {
  line: ManagerSender;
  /** Attempts whose handlers run, with their lanes. */
  running: ReadonlyMap<Attempt, KindLane>;
  /** Every attempt whose message is not settled, by lane. */
  held: () => Iterable<[KindLane, Attempt[]]>;
  /** Lease of an attempt without a heartbeat. */
  leaseMs: number;
  visibilityMs: number;
  /** Called for an attempt whose handler ignored its timeout. */
  onOverdue: (lane: KindLane, attempt: Attempt) => void;
  /** Called for attempts that waited so long for a handler that another worker should run them. */
  onStale: (lane: KindLane, attempts: readonly Attempt[]) => void;
  clock: Clock;
  log: Logger;
}

/** Interval of the checks; counts reported by handlers are sent this often. */
const INTERVAL_MS = 1000;
/** Time that a handler gets to finish after its timeout signal. */
const OVERDUE_GRACE_MS = 5000;
/** How long a message may wait here for a handler, and after how many deliveries it waits indefinitely. */
const STALE_MS = 10_000;
const STALE_RECEIVES_MAX = 5;

/**
 * Keeps attempts alive: sends heartbeats to the manager, extends the visibility of their messages, and detects inactive
 * ones.
 */
export class HeartbeatSender {
  readonly #options: HeartbeatSenderOptions;
  readonly #loop: Loop;

  constructor(options: HeartbeatSenderOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#loop = new Loop({ name: 'heartbeat', intervalMs: INTERVAL_MS, clock, log, runOnce: () => this.#runOnce() });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Sends a heartbeat for an attempt with its counts since the last one; the first one reports that it started. */
  beat(attempt: Attempt): void {
    const { newSuccess: new_success, newFailures: new_failures } = attempt;
    const { id: task_id, attempt: number } = attempt.start.task;
    attempt.newSuccess = 0;
    attempt.newFailures = 0;
    attempt.beating = true;
    attempt.beatAt = this.#options.clock.monotonic();
    const sent = this.#options.line.beat({
      type: 'HeartbeatTask',
      task_id,
      attempt: number,
      new_success,
      new_failures,
    });
    sent
      .catch((error: unknown) => {
        attempt.newSuccess += new_success;
        attempt.newFailures += new_failures;
        attempt.log.warn({ err: error }, 'could not send a heartbeat');
      })
      .finally(() => (attempt.beating = false));
  }

  async #runOnce(): Promise<'idle'> {
    const now = this.#options.clock.monotonic();
    for (const [attempt, lane] of this.#options.running) this.#look(attempt, lane, now);
    await this.#extend(now);
    return 'idle';
  }

  #look(attempt: Attempt, lane: KindLane, now: number): void {
    if (attempt.settled) return;
    const { timeout_secs } = attempt.start.task;
    const idleMs = now - attempt.activeAt;
    if (idleMs >= timeout_secs * 1000) {
      attempt.end('timed_out', attempt.timeoutReason);
      if (idleMs >= timeout_secs * 1000 + OVERDUE_GRACE_MS) this.#options.onOverdue(lane, attempt);
      return;
    }
    const counted = attempt.newSuccess + attempt.newFailures > 0;
    const due = now - attempt.beatAt >= this.#options.leaseMs / 3;
    if (attempt.ending === undefined && !attempt.beating && (due || counted)) this.beat(attempt);
  }

  async #extend(now: number): Promise<void> {
    const { visibilityMs, running } = this.#options;
    const extended: Promise<void>[] = [];
    for (const [lane, attempts] of this.#options.held()) {
      const stale = attempts.filter((attempt) => !running.has(attempt) && isStale(attempt, lane, now));
      if (stale.length > 0) this.#options.onStale(lane, stale);
      const due = attempts.filter(
        (attempt) => now - attempt.extendedAt >= visibilityMs / 3 && !stale.includes(attempt),
      );
      for (const attempt of due) attempt.extendedAt = now;
      extended.push(
        lane.settlement.extend(
          due.flatMap(({ receipts }) => receipts),
          visibilityMs,
        ),
      );
    }
    await Promise.all(extended);
  }
}

function isStale(attempt: Attempt, lane: KindLane, now: number): boolean {
  if (attempt.receiveCount >= STALE_RECEIVES_MAX || now - attempt.receivedAt < STALE_MS) return false;
  return lane.backlog.includes(attempt);
}
