import type { Link } from './link.ts';

/** Chooses among endpoints: the fittest ones first, of these the one with the fewest calls of ours. */
export class Balance {
  readonly #links: readonly Link[];
  /** Where to begin among equals, so that they take turns. */
  #turn = 0;

  constructor(links: readonly Link[]) {
    this.#links = links;
  }

  get size(): number {
    return this.#links.length;
  }

  /** @param passed those to pass over while another one is left */
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
