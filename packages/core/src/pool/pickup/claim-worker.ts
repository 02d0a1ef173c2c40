import type { Clock } from '@heddle/base/clock';
import type { Served } from '../port/backend.ts';
import { lackingOf, type RunnerRequest } from '../port/store.ts';
import { claimCandidates, deleteSpent, type ClaimOptions } from './claim.ts';
import type { PickupManager } from './pickup-manager.ts';
import type { PickupPolicy } from './policy.ts';
import type { Candidate } from './pool-messages.ts';

export interface ClaimWorkersOptions extends ClaimOptions {
  readonly manager: PickupManager;
  readonly policy: PickupPolicy;
  readonly clock: Clock;
}

/** Maximum number of concurrent searches for one request. */
const WORKERS_MAX = 10;

/** The claim workers of one request: they hold candidates until there are enough of them, then claim them all. */
export class ClaimWorkers {
  readonly #request: RunnerRequest;
  readonly #options: ClaimWorkersOptions;
  /** By runner. */
  readonly #held = new Map<string, Candidate>();
  #searching = 0;
  /** When the visibility timeout of the held messages was last renewed, by the monotonic clock. */
  #hiddenAt = 0;

  constructor(request: RunnerRequest, options: ClaimWorkersOptions) {
    this.#request = request;
    this.#options = options;
  }

  /** @throws errors of the queue or the store, after trying to return the held candidates */
  async serve(): Promise<Served> {
    try {
      return await this.#serve();
    } catch (error) {
      await this.#giveBack().catch((failure: unknown) =>
        this.#options.log.debug(
          { err: failure },
          'could not return candidates; they reappear after their visibility timeout',
        ),
      );
      throw error;
    }
  }

  get #lacking(): number {
    return lackingOf(this.#request);
  }

  async #serve(): Promise<Served> {
    const { id } = this.#request;
    for (;;) {
      await this.#gather();
      if (this.#held.size < this.#lacking) return await this.#endExhausted();
      const candidates = [...this.#held.values()];
      const { grant, spent, left, settled, barred } = await claimCandidates(id, candidates, this.#options);
      await deleteSpent(spent, this.#options);
      this.#held.clear();
      for (const candidate of left) this.#held.set(candidate.runner.id, candidate);
      if (!settled) continue;
      await this.#giveBack();
      return { request_id: id, grant, exhaustion: barred ? 'local' : null };
    }
  }

  /** Gathers candidates until there are enough, or the manager has none left. */
  async #gather(): Promise<void> {
    const missing = this.#lacking - this.#held.size;
    const workers = Array.from({ length: Math.min(missing, WORKERS_MAX) }, () => this.#search());
    // Candidates found after another worker failed are held as well, and returned.
    const ends = await Promise.allSettled(workers);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #search(): Promise<void> {
    while (this.#held.size + this.#searching < this.#lacking) {
      this.#searching += 1;
      try {
        const candidate = await this.#options.manager.next();
        if (candidate === null) return;
        await this.#hold(candidate);
      } finally {
        this.#searching -= 1;
      }
    }
  }

  async #hold(candidate: Candidate): Promise<void> {
    const { messages, policy, clock } = this.#options;
    // A second message of the same runner is redundant.
    if (this.#held.has(candidate.runner.id)) {
      await messages.drop([candidate]);
      return;
    }
    const now = clock.monotonic();
    if (this.#held.size === 0) this.#hiddenAt = now;
    this.#held.set(candidate.runner.id, candidate);
    if (now - this.#hiddenAt < policy.visibility_ms / 2) return;
    this.#hiddenAt = now;
    await messages.extend([...this.#held.values()]);
  }

  async #endExhausted(): Promise<Served> {
    const { id } = this.#request;
    // The returned candidates are idle and fit, but there are too few.
    const tooFew = this.#held.size > 0;
    const { exhaustion } = this.#options.manager;
    await this.#giveBack();
    return { request_id: id, grant: null, exhaustion: tooFew && exhaustion === 'global' ? 'local' : exhaustion };
  }

  async #giveBack(): Promise<void> {
    const candidates = [...this.#held.values()];
    this.#held.clear();
    await this.#options.messages.requeue(candidates, 0);
  }
}
