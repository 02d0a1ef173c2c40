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
  /** Candidates that nobody has claimed, and that others may. */
  readonly left: readonly Candidate[];
  /** The request waits no more: it has its runners, or it ended. */
  readonly settled: boolean;
}

/**
 * Claims the runners of these candidates, all or none, and deletes the messages that are of no more use: of those that are
 * claimed, gone, or silent, which the sweep of the store ends or offers anew.
 */
export async function claimCandidates(
  requestId: string,
  candidates: readonly Candidate[],
  { store, messages, counts, log }: ClaimOptions,
): Promise<ClaimResult> {
  counts.operations += 1;
  const { grant, answers } = await store.claim(
    requestId,
    candidates.map(({ runner }) => runner.id),
  );
  if (grant !== null) {
    // The runners are claimed whatever becomes of their messages: one that stays is found to be gone by who gets it next.
    await messages
      .drop(candidates)
      .catch((error: unknown) => log.warn({ err: error, request_id: requestId }, 'Messages of claimed runners stay'));
    return { grant, left: [], settled: true };
  }
  const over = candidates.filter((_, index) => answers[index] === 'gone' || answers[index] === 'silent');
  await messages.drop(over);
  const left = candidates.filter((candidate) => !over.includes(candidate));
  return { grant: null, left, settled: over.length === 0 };
}
