import type { ClaimAlong } from './port.ts';

/** Claimers of this process that can take newly submitted tasks in the same transaction. */
export class Offers {
  readonly #offers = new Set<{ kinds: ReadonlySet<string>; claimAlong: () => ClaimAlong | null }>();

  /** @returns function that withdraws the offer */
  add(lanes: readonly string[], claimAlong: () => ClaimAlong | null): () => void {
    const kinds = new Set(lanes.filter((lane) => lane.startsWith('kind:')).map((lane) => lane.slice('kind:'.length)));
    const offer = { kinds, claimAlong };
    this.#offers.add(offer);
    return () => void this.#offers.delete(offer);
  }

  /** Returns the claim of the first claimer that runs one of these kinds and has free capacity; null if none. */
  take(kinds: Iterable<string>): ClaimAlong | null {
    if (this.#offers.size === 0) return null;
    const wanted = [...kinds];
    for (const offer of this.#offers) {
      if (!wanted.some((kind) => offer.kinds.has(kind))) continue;
      const along = offer.claimAlong();
      if (along !== null) return along;
    }
    return null;
  }
}
