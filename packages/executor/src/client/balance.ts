import type { Link } from './link.ts';

/** Selects an endpoint: the best rank first, then the fewest calls in flight from this client. */
export class Balance {
  readonly #links: readonly Link[];
  /** Start of the search, rotated so that equals alternate. */
  #turn = 0;

  constructor(links: readonly Link[]) {
    this.#links = links;
  }

  get size(): number {
    return this.#links.length;
  }

  /** @param passed endpoints to avoid while others are left */
  choose(passed: ReadonlySet<Link> = new Set()): Link {
    const left = this.#links.filter((link) => !passed.has(link));
    const links = left.length === 0 ? this.#links : left;
    this.#turn = (this.#turn + 1) % this.#links.length;
    let best = links[this.#turn % links.length]!;
    for (const link of links) if (isBetter(link, best)) best = link;
    return best;
  }
}

function isBetter(link: Link, than: Link): boolean {
  return link.rank === than.rank ? link.inFlight < than.inFlight : link.rank < than.rank;
}
