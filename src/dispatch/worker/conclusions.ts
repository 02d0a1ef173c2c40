import type { CompletionState } from '../../domain/message.ts';
import type { Outcome } from '../../domain/task-state.ts';
import { Completion, reasonOf } from '../kind/completion.ts';
import type { Attempt } from './attempt.ts';
import type { Intake } from './intake.ts';
import type { KindLane } from './kind-lane.ts';
import type { ManagerLine } from './manager-line.ts';
import type { Pulse } from './pulse.ts';

const STATE_OF_OUTCOME = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  timed_out: 'Timeout',
  partially_failed: 'PartiallyFailed',
} as const satisfies Record<Outcome, CompletionState>;

export interface ConclusionsOptions {
  line: ManagerLine;
  pulse: Pulse;
  intake: Intake;
  /** Called when an end was told. */
  onRoom: () => void;
}

/** Brings attempts to their end: tells the manager, and only then settles the message, or hands it back. Each once. */
export class Conclusions {
  readonly counts: Record<Outcome, number> = { succeeded: 0, failed: 0, timed_out: 0, partially_failed: 0 };
  readonly #options: ConclusionsOptions;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: ConclusionsOptions) {
    this.#options = options;
  }

  /** Ends that are not told yet. */
  get underWay(): number {
    return this.#underWay.size;
  }

  conclude(lane: KindLane, attempt: Attempt, completion: Completion): void {
    if (attempt.settled) return;
    attempt.settled = true;
    this.#track(this.#settle(lane, attempt, completion));
  }

  /** Its task was over before any worker began it: what a canceled attempt holds is free, since nobody is at work on it. */
  drop(lane: KindLane, attempt: Attempt): void {
    if (attempt.settled) return;
    attempt.settled = true;
    const told = this.#post(attempt, new Completion('failed', { reason: 'it was over before it began' }));
    const noted = told.catch((error: unknown) =>
      attempt.log.warn({ err: error }, 'the end of a task could not be sent'),
    );
    this.#track(noted.then(() => this.#done(lane, attempt)));
  }

  #track(work: Promise<void>): void {
    const settling = work.finally(() => {
      this.#underWay.delete(settling);
      this.#options.onRoom();
    });
    this.#underWay.add(settling);
  }

  /** Somebody else is to run them, at once; what becomes of them here is of no interest any more. */
  async handBack(lane: KindLane, attempts: readonly Attempt[]): Promise<void> {
    const given = attempts.filter((attempt) => !attempt.settled);
    for (const attempt of given) attempt.settled = true;
    await this.#release(lane, given);
  }

  /** Resolves when every end that was concluded so far is told. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #settle(lane: KindLane, attempt: Attempt, completion: Completion): Promise<void> {
    const { ending } = attempt;
    const succeeded = completion.outcome === 'succeeded';
    if (ending === 'handed_back' && !succeeded) return this.#release(lane, [attempt]);
    if (ending === 'unwanted') return this.#done(lane, attempt);
    const said = ending === 'timed_out' && !succeeded ? timedOut(attempt) : tellable(completion);
    try {
      await this.#report(attempt, said);
      this.counts[said.outcome] += 1;
      await this.#done(lane, attempt);
    } catch (error) {
      attempt.log.error({ err: error }, 'the end of a task could not be sent; the task is handed back');
      await this.#release(lane, [attempt]);
    }
  }

  async #report(attempt: Attempt, completion: Completion): Promise<void> {
    const { line, pulse } = this.#options;
    if (attempt.newSuccess + attempt.newFailures > 0) pulse.beat(attempt);
    try {
      await this.#post(attempt, completion);
    } catch (error) {
      if (line.closed) throw error;
      // Too large for the queue, say: the task is told of that much.
      const reason = `the end of the task could not be sent: ${reasonOf(error)}`;
      await this.#post(attempt, new Completion('failed', { reason }));
    }
  }

  #post({ start }: Attempt, completion: Completion): Promise<void> {
    return this.#options.line.post({
      type: 'CompleteTask',
      task_id: start.task.id,
      state: STATE_OF_OUTCOME[completion.outcome],
      root_container_id: start.root_container_id,
      data: completion.result ?? null,
      expected_task_count: completion.expected_created ?? null,
      attempt: start.task.attempt,
      reason: completion.reason ?? null,
      final: completion.final,
      ...(completion.disable === undefined ? {} : { disable: completion.disable }),
    });
  }

  async #done(lane: KindLane, attempt: Attempt): Promise<void> {
    await lane.settlement.done(attempt.receipts);
    this.#options.intake.forget(attempt, true);
  }

  async #release(lane: KindLane, attempts: readonly Attempt[]): Promise<void> {
    for (const attempt of attempts) this.#options.intake.forget(attempt, false);
    await lane.settlement.handBack(attempts.flatMap(({ receipts }) => receipts));
  }
}

/** The manager's queue carries no notices: a kind that tells something runs where the database is. */
function tellable(completion: Completion): Completion {
  if (completion.notices === undefined) return completion;
  const reason = 'kinds that send notifications run in servers: this worker cannot hand over what it is to send';
  return new Completion('failed', { reason, final: true });
}

function timedOut(attempt: Attempt): Completion {
  return new Completion('timed_out', { reason: attempt.timeoutReason });
}
