import type { PoolPolicy } from '../../../../src/pool/context.ts';
import { lackingOf, type RunnerRequest, type RunnerStore } from '../../../../src/pool/port/store.ts';
import { OVERTAKES_FOR_EACH } from '../../../../src/pool/provision.ts';
import type { Chronicle } from './chronicle.ts';

type Granted = Pick<RunnerRequest, 'id' | 'rank'>;

/** Number of grants to others that may precede the first check of a server while servers are killed. */
const UNSEEN_MAX = 6;

/** Counts how often the first request in the queue is overtaken although the provider has capacity for it. */
export class OvertakeMonitor {
  readonly #store: RunnerStore;
  readonly #chronicle: Chronicle;
  readonly #most: number;
  /** The first request in the queue, and the number of later requests that were granted since. */
  #next: (Granted & { overtaken: number }) | null = null;
  /** The maximum over all requests. */
  seen = 0;

  constructor(store: RunnerStore, chronicle: Chronicle, { max_runners }: PoolPolicy) {
    this.#store = store;
    this.#chronicle = chronicle;
    this.#most = OVERTAKES_FOR_EACH * max_runners + UNSEEN_MAX;
  }

  granted({ id, rank }: Granted): void {
    if (this.#next?.id === id) this.#next = null;
    if (this.#next === null || !isBefore(this.#next, { id, rank })) return;
    this.#next.overtaken += 1;
    this.seen = Math.max(this.seen, this.#next.overtaken);
    if (this.#next.overtaken > this.#most)
      this.#chronicle.fail(new Error(`request ${this.#next.id} was overtaken by ${this.#next.overtaken} others`));
  }

  /** Gangs, requests that cannot be launched now, and requests with launching runners have no bound. */
  async check(): Promise<void> {
    const [first] = await this.#store.waiting(1);
    const created = await this.#store.list({ state: 'created' }, { offset: 0, limit: 100 });
    const isComing = created.some(
      ({ resource_class, usage_class }) =>
        resource_class === first?.resource_class && usage_class === first.usage_class,
    );
    const isBound = first !== undefined && lackingOf(first) === 1 && first.reason === null && !isComing;
    if (!isBound) this.#next = null;
    else if (this.#next?.id !== first.id) this.#next = { id: first.id, rank: first.rank, overtaken: 0 };
  }
}

function isBefore(one: Granted, other: Granted): boolean {
  return one.rank - other.rank < 0 || (one.rank === other.rank && one.id < other.id);
}
