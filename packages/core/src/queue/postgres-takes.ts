import { Coalescer } from '@heddle/base/coalescer';
import type { MessageRow, Take, Taken } from '../store/queue-messages.ts';
import type { ReceiveOptions } from './port.ts';
import type { Progress } from './progress.ts';

/** A take of more messages has a statement of its own. */
const SHARED_MAX = 100;
/** Takes that share a statement. */
const TAKES_MAX = 10;

/** What a receiver took, and where the scan began. */
export interface Share extends Taken {
  from_ms: number | null;
}

export interface PostgresTakesOptions {
  take: (take: Pick<Take, 'queue' | 'max' | 'visibilityMs' | 'fromMs'>) => Promise<Taken>;
  progress: Progress;
}

/**
 * Takes messages for the receivers of one process. Small takes from a queue that arrive while one is under way share the
 * next statement: every statement passes over the rows that earlier ones took, whatever it takes itself.
 */
export class PostgresTakes {
  readonly #options: PostgresTakesOptions;
  readonly #shared = new Map<string, Coalescer<ReceiveOptions, Share | null>>();

  constructor(options: PostgresTakesOptions) {
    this.#options = options;
  }

  /**
   * Returns null if nothing was taken for this receiver and the queue may have more: it was aborted, or receivers before it
   * took all that the statement found.
   */
  take(queue: string, receive: ReceiveOptions): Promise<Share | null> {
    if (receive.max > SHARED_MAX) return this.#take(queue, receive.max, receive.visibility_ms);
    return this.#sharedOf(queue).add(receive);
  }

  /** Resolves when all takes have ended. */
  async drain(): Promise<void> {
    await Promise.all([...this.#shared.values()].map((takes) => takes.drain()));
  }

  #sharedOf(queue: string): Coalescer<ReceiveOptions, Share | null> {
    let takes = this.#shared.get(queue);
    if (takes === undefined) {
      takes = new Coalescer({
        maxItems: TAKES_MAX,
        maxWaiting: Number.POSITIVE_INFINITY,
        isolate: false,
        flush: (receives) => this.#takeShared(queue, receives),
      });
      this.#shared.set(queue, takes);
    }
    return takes;
  }

  async #takeShared(queue: string, receives: readonly ReceiveOptions[]): Promise<(Share | null)[]> {
    const shares: (Share | null)[] = receives.map(() => null);
    const wanted = receives.map((receive, at) => ({ receive, at })).filter(({ receive }) => !receive.signal?.aborted);
    for (const [visibilityMs, group] of Map.groupBy(wanted, ({ receive }) => receive.visibility_ms)) {
      const max = group.reduce((sum, { receive }) => sum + receive.max, 0);
      const taken = await this.#take(queue, max, visibilityMs);
      let from = 0;
      for (const { receive, at } of group) {
        const rows = taken.rows.slice(from, from + receive.max);
        from += rows.length;
        shares[at] = rows.length === 0 && taken.rows.length > 0 ? null : { ...taken, rows };
      }
    }
    return shares;
  }

  async #take(queue: string, max: number, visibilityMs: number): Promise<Share> {
    const { take, progress } = this.#options;
    const fromMs = progress.from(queue);
    const taken = await take({ queue, max, visibilityMs, fromMs });
    progress.looked(queue, fromMs, taken.looked_until);
    return { ...taken, rows: taken.rows.sort(bySentAt), from_ms: fromMs };
  }
}

function bySentAt(one: MessageRow, other: MessageRow): number {
  return one.sent_at - other.sent_at;
}
