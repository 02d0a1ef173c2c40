import type { Logger } from '../../runtime/log.ts';
import type { BackendCounts } from '../port/backend.ts';
import type { Grant, RunnerStore } from '../port/store.ts';
import type { Candidate, PoolMessages } from './pool-messages.ts';

export interface ClaimOptions {
  readonly store: Pick<RunnerStore, 'claim'>;
  readonly messages: PoolMessages;
  readonly counts: BackendCounts;
  readonly log: Logger;
}

export interface ClaimResult {
  /** Null where the claim failed as a whole. */
  readonly grant: Grant | null;
  /**
   * Candidates whose messages are of no more use: of runners that are claimed, gone, or silent, which the store ends or
   * has offered anew.
   */
  readonly spent: readonly Candidate[];
  /** Candidates that nobody has claimed, and that others may. */
  readonly left: readonly Candidate[];
  /** There is no more to be done: the request has its runners, it ended, or it is not its turn. */
  readonly settled: boolean;
  /** Others come first for some of these runners. */
  readonly barred: boolean;
}

/** Claims the runners of these candidates, all or none. Their messages stay as they are. */
export async function claimCandidates(
  requestId: string,
  candidates: readonly Candidate[],
  { store, counts }: ClaimOptions,
): Promise<ClaimResult> {
  counts.operations += 1;
  const { grant, answers } = await store.claim(
    requestId,
    candidates.map(({ runner }) => runner.id),
  );
  const isSpent = candidates.map((_, index) => {
    const answer = answers[index];
    return answer === 'gone' || answer === 'silent' || (answer === 'claimed' && grant !== null);
  });
  const spent = candidates.filter((_, index) => isSpent[index]);
  const left = candidates.filter((_, index) => !isSpent[index]);
  const barred = grant === null && answers.includes('barred');
  return { grant, spent, left, settled: grant !== null || spent.length === 0, barred };
}

/** Deletes spent messages. One that stays does no harm: whoever gets it next finds its runner gone. */
export async function deleteSpent(candidates: readonly Candidate[], { messages, log }: ClaimOptions): Promise<void> {
  try {
    await messages.drop(candidates);
  } catch (error) {
    log.warn({ err: error, messages: candidates.length }, 'Messages of runners that are claimed or gone stay for now');
  }
}
