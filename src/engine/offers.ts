import type { ClaimAlong } from './port.ts';

/** Claimers of this process that would take what is being submitted, in the same transaction. */
export class Offers {
  readonly #offers = new Set<{ kinds: ReadonlySet<string>; claimAlong: () => ClaimAlong | null }>();

  /** @returns how to take the offer back */
  add(lanes: readonly string[], claimAlong: () => ClaimAlong | null): () => void {
    const kinds = new Set(lanes.filter((lane) => lane.startsWith('kind:')).map((lane) => lane.slice('kind:'.length)));
    const offer = { kinds, claimAlong };
    this.#offers.add(offer);
    return () => void this.#offers.delete(offer);
  }

  /** The claim of the first claimer that runs one of these kinds and has room; null where none does. */
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
