import type { Logger } from '@heddle/base/log';
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
  /** Null if the claim failed as a whole. */
  readonly grant: Grant | null;
  /**
   * Candidates whose messages are no longer needed: their runners are claimed, gone or silent. The store ends silent
   * runners or offers them again.
   */
  readonly spent: readonly Candidate[];
  /** Candidates that were not claimed and remain available. */
  readonly left: readonly Candidate[];
  /** Nothing is left to do: the request has its runners, has ended, or must wait for an earlier one. */
  readonly settled: boolean;
  /** Some of these runners are reserved for earlier requests. */
  readonly barred: boolean;
}

/** Claims the runners of these candidates, all or none; leaves their messages unchanged. */
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

/** Deletes spent messages. One that remains is harmless: its next receiver finds the runner gone. */
export async function deleteSpent(candidates: readonly Candidate[], { messages, log }: ClaimOptions): Promise<void> {
  try {
    await messages.drop(candidates);
  } catch (error) {
    log.warn({ err: error, messages: candidates.length }, 'could not delete messages of claimed or ended runners');
  }
}
