import { parseStartTask } from '@heddle/core/domain/parse/message';
import { DEFAULT_MAX_RECEIVES } from '@heddle/core/queue/limits';
import type { ReceivedMessage } from '@heddle/core/queue/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Attempt, attemptKey } from './attempt.ts';
import type { KindLane } from './kind-lane.ts';
import type { TaskControl } from '../task-control.ts';
import type { TaskLogs } from '../task-logs.ts';

/** Time in a queue after which an attempt is checked before it starts: its task may have been canceled or requeued. */
const AGED_MS = 10_000;
/** Attempts that recently ended here: their messages may be redelivered. */
const REMEMBERED_MAX = 10_000;

export interface IntakeOptions {
  control: TaskControl | null;
  clock: Clock;
  log: Logger;
  logs: TaskLogs | null;
  /** Called for an attempt that was delivered so often that another try cannot succeed. */
  giveUp: (lane: KindLane, attempt: Attempt) => void;
  /** Called for an attempt whose task ended before any worker started it. */
  drop: (lane: KindLane, attempt: Attempt) => void;
}

/** Sorts received messages: tasks to run, tasks already running, ended tasks, and unreadable messages. */
export class Intake {
  /** Attempts in this worker by key, from their message's arrival until it is settled. */
  readonly attempts = new Map<string, Attempt>();
  readonly #options: IntakeOptions;
  #ended = new Set<string>();
  #endedBefore: ReadonlySet<string> = new Set();

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Adds the tasks to run to the lane's backlog. */
  async take(lane: KindLane, messages: readonly ReceivedMessage[]): Promise<void> {
    const letters: { receipt: string; reason: string }[] = [];
    const over: string[] = [];
    const unconfirmed: Attempt[] = [];
    const now = this.#options.clock.now();
    for (const message of messages) {
      const parsed = this.#parse(lane, message);
      if ('reason' in parsed) {
        letters.push({ receipt: message.receipt, reason: parsed.reason });
        continue;
      }
      const attempt = this.#admit(parsed);
      if (attempt === null) over.push(message.receipt);
      else if (attempt === 'adopted') continue;
      else if (attempt.receiveCount > 1 || now - message.sent_at >= AGED_MS) unconfirmed.push(attempt);
      else lane.backlog.push(attempt);
    }
    if (letters.length > 0) {
      const [first] = letters;
      this.#options.log.error(
        { queue: lane.queue, letters: letters.length, first: first!.reason },
        'dead-lettered messages',
      );
    }
    await Promise.all([
      lane.settlement.deadLetter(letters),
      lane.settlement.done(over),
      ...(unconfirmed.length > 0 ? [this.#takeAfterCheck(lane, unconfirmed)] : []),
    ]);
  }

  /** Its message is settled or released. */
  forget(attempt: Attempt, ended: boolean): void {
    this.attempts.delete(attempt.key);
    if (!ended) return;
    this.#ended.add(attempt.key);
    // Two generations: dropping the oldest one by one would traverse the slots of all dropped before.
    if (this.#ended.size < REMEMBERED_MAX / 2) return;
    this.#endedBefore = this.#ended;
    this.#ended = new Set();
  }

  #parse(lane: KindLane, message: ReceivedMessage): Attempt | { reason: string } {
    const { clock, log, logs } = this.#options;
    const parsed = parseStartTask(message.body);
    if (!parsed.ok) return { reason: parsed.reason };
    const { kind } = parsed.message.task;
    if (kind !== lane.definition.name) return { reason: `task.kind: is ${kind}, but this is the queue ${lane.queue}` };
    return new Attempt(parsed.message, message, { log, logs, now: () => clock.monotonic() });
  }

  /** The attempt if it is new here; null if it has ended. */
  #admit(attempt: Attempt): Attempt | 'adopted' | null {
    const known = this.attempts.get(attempt.key);
    if (known !== undefined) {
      known.adopt(attempt.receipts[0]!);
      return 'adopted';
    }
    if (this.#ended.has(attempt.key) || this.#endedBefore.has(attempt.key)) return null;
    const { id, attempt: number } = attempt.start.task;
    if (number > 1)
      this.attempts.get(attemptKey(id, number - 1))?.end('unwanted', 'a later attempt of the task has begun');
    this.attempts.set(attempt.key, attempt);
    return attempt;
  }

  /** A redelivered or late message may belong to an attempt that continued, ended or died elsewhere meanwhile. */
  async #takeAfterCheck(lane: KindLane, attempts: readonly Attempt[]): Promise<void> {
    const reasons = await this.#check(attempts);
    const over: string[] = [];
    for (const [index, attempt] of attempts.entries()) {
      if ((reasons[index] ?? null) !== null) {
        // Another worker may still be running a redelivered attempt.
        if (attempt.receiveCount === 1) this.#options.drop(lane, attempt);
        else {
          this.forget(attempt, true);
          over.push(...attempt.receipts);
        }
      } else if (attempt.receiveCount >= DEFAULT_MAX_RECEIVES) {
        this.#options.giveUp(lane, attempt);
      } else lane.backlog.push(attempt);
    }
    await lane.settlement.done(over);
  }

  async #check(attempts: readonly Attempt[]): Promise<readonly (string | null)[]> {
    const { control, log } = this.#options;
    if (control === null) return [];
    return control.check(attempts.map(({ checked }) => checked)).catch((error: unknown) => {
      log.warn({ err: error }, 'could not check redelivered or late tasks; running them anyway');
      return [];
    });
  }
}
