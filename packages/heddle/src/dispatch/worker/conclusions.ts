import type { CompletionState } from '@heddle/core/domain/message';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import { Completion, reasonOf } from '../kind/completion.ts';
import type { Attempt } from './attempt.ts';
import type { Intake } from './intake.ts';
import type { KindLane } from './kind-lane.ts';
import type { ManagerSender } from './manager-sender.ts';
import type { HeartbeatSender } from './heartbeat-sender.ts';

const STATE_OF_OUTCOME = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  timed_out: 'Timeout',
  partially_failed: 'PartiallyFailed',
} as const satisfies Record<Outcome, CompletionState>;

export interface ConclusionsOptions {
  line: ManagerSender;
  heartbeats: HeartbeatSender;
  intake: Intake;
  /** Called when an end was reported. */
  onRoom: () => void;
}

/** Concludes attempts, each once: reports the end to the manager, and only then settles the message or releases it. */
export class Conclusions {
  readonly counts: Record<Outcome, number> = { succeeded: 0, failed: 0, timed_out: 0, partially_failed: 0 };
  readonly #options: ConclusionsOptions;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: ConclusionsOptions) {
    this.#options = options;
  }

  /** Ends that are not reported yet. */
  get underWay(): number {
    return this.#underWay.size;
  }

  conclude(lane: KindLane, attempt: Attempt, completion: Completion): void {
    if (attempt.settled) return;
    attempt.settled = true;
    this.#track(this.#settle(lane, attempt, completion));
  }

  /**
   * For a task that ended before any worker started it: what a canceled attempt holds can be released, because no
   * worker runs it.
   */
  drop(lane: KindLane, attempt: Attempt): void {
    if (attempt.settled) return;
    attempt.settled = true;
    const posted = this.#post(attempt, new Completion('failed', { reason: 'it ended before it started' }));
    const noted = posted.catch((error: unknown) =>
      attempt.log.warn({ err: error }, 'could not report the end of a task'),
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

  /** Releases attempts to other workers at once; their outcome here no longer matters. */
  async handBack(lane: KindLane, attempts: readonly Attempt[]): Promise<void> {
    const given = attempts.filter((attempt) => !attempt.settled);
    for (const attempt of given) attempt.settled = true;
    await this.#release(lane, given);
  }

  /** Resolves when every end concluded so far is reported. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #settle(lane: KindLane, attempt: Attempt, completion: Completion): Promise<void> {
    const { ending } = attempt;
    const succeeded = completion.outcome === 'succeeded';
    if (ending === 'handed_back' && !succeeded) return this.#release(lane, [attempt]);
    if (ending === 'unwanted') return this.#done(lane, attempt);
    const said = ending === 'timed_out' && !succeeded ? timedOut(attempt) : isReportable(completion);
    try {
      await this.#report(attempt, said);
      this.counts[said.outcome] += 1;
      await this.#done(lane, attempt);
    } catch (error) {
      attempt.log.error({ err: error }, 'could not report the end of a task; releasing the task');
      await this.#release(lane, [attempt]);
    }
  }

  async #report(attempt: Attempt, completion: Completion): Promise<void> {
    const { line, heartbeats } = this.#options;
    if (attempt.newSuccess + attempt.newFailures > 0) heartbeats.beat(attempt);
    try {
      await this.#post(attempt, completion);
    } catch (error) {
      if (line.closed) throw error;
      // Too large for the queue, for example: the task gets at least this reason.
      const reason = `could not report the end of the task: ${reasonOf(error)}`;
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
      ...(completion.exit_code === undefined ? {} : { exit_code: completion.exit_code }),
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

/** The manager's queue does not transport notices: kinds that send notifications run next to the database. */
function isReportable(completion: Completion): Completion {
  if (completion.notices === undefined) return completion;
  const reason = 'this worker cannot send notifications: run kinds that send notifications in a server';
  return new Completion('failed', { reason, final: true });
}

function timedOut(attempt: Attempt): Completion {
  return new Completion('timed_out', { reason: attempt.timeoutReason });
}
