import { getServers } from 'node:dns';

import type { Random } from '@heddle/base/random';
import { parseResolver, Resolver } from './resolver.ts';

/** Up to this number resolvers are compared one by one; beyond it, two random ones. */
const COMPARED_MAX = 8;
const DRAWS_MAX = 16;

/** Selects the resolver for each query of a scan. */
export class ResolverSet {
  readonly all: readonly Resolver[];
  readonly #random: Random;
  /** The resolver whose window counts the slot: its index plus one, 0 for none. */
  readonly #countedBy: Uint32Array;

  /**
   * @param texts `ip` or `ip:port`; empty: the system's resolvers
   * @param slots number of concurrent queries, the largest window of a resolver
   */
  constructor(texts: readonly string[], timeoutMs: number, slots: number, random: Random) {
    const addresses = (texts.length === 0 ? getServers() : texts).map(parseResolver);
    const distinct = new Map(addresses.map((address) => [`${address.ip} ${address.port}`, address]));
    this.all = [...distinct.values()].map((address) => new Resolver(address, timeoutMs, slots));
    this.#random = random;
    this.#countedBy = new Uint32Array(slots);
  }

  /**
   * Returns the best resolver with capacity for a query; those that `avoid` selects only if there is no other.
   *
   * @returns its index, or -1 if all windows are full
   */
  choose(nowMs: number, avoid: (index: number) => boolean): number {
    if (this.all.length === 1) return this.#hasCapacity(this.all[0]!, nowMs) ? 0 : -1;
    const drawn = this.all.length > COMPARED_MAX ? this.#draw(nowMs, avoid) : -1;
    return drawn === -1 ? this.#compareAll(nowMs, avoid) : drawn;
  }

  /** Returns the milliseconds until the pace allows the first delayed resolver; 0 if none is delayed. */
  pacedMs(nowMs: number): number {
    const waits = this.all.map(({ pacedUntil }) => pacedUntil - nowMs).filter((wait) => wait > 0);
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  /** Counts a slot's query in its resolver's window. */
  count(slot: number, index: number): void {
    this.#countedBy[slot] = index + 1;
    this.all[index]!.inFlight += 1;
  }

  /** Removes the slot's query from its resolver's window, once. */
  uncount(slot: number): void {
    const counted = this.#countedBy[slot]!;
    if (counted === 0) return;
    this.#countedBy[slot] = 0;
    this.all[counted - 1]!.inFlight -= 1;
  }

  #hasCapacity(resolver: Resolver, nowMs: number): boolean {
    if (resolver.pacedUntil > nowMs) return false;
    if (resolver.hasCapacity) return true;
    resolver.onFull();
    return false;
  }

  #draw(nowMs: number, avoid: (index: number) => boolean): number {
    let best = -1;
    for (let draw = 0, found = 0; draw < DRAWS_MAX && found < 2; draw++) {
      const index = Math.floor(this.#random.next() * this.all.length);
      const resolver = this.all[index]!;
      if (index === best || resolver.restsUntil > nowMs || !this.#hasCapacity(resolver, nowMs) || avoid(index))
        continue;
      found += 1;
      if (best === -1 || resolver.cost < this.all[best]!.cost) best = index;
    }
    return best;
  }

  /**
   * Considers only the best class: active before resting, then not yet queried. If all of that class are full, waits
   * for them, since an attempt with a worse one would most likely be lost.
   */
  #compareAll(nowMs: number, avoid: (index: number) => boolean): number {
    let best = -1;
    let bestSort = Infinity;
    let bestCost = Infinity;
    for (let index = 0; index < this.all.length; index++) {
      const resolver = this.all[index]!;
      const sort = (resolver.restsUntil > nowMs ? 2 : 0) + (avoid(index) ? 1 : 0);
      if (sort > bestSort) continue;
      if (sort < bestSort) {
        bestSort = sort;
        best = -1;
        bestCost = Infinity;
      }
      if (!this.#hasCapacity(resolver, nowMs) || resolver.cost >= bestCost) continue;
      bestCost = resolver.cost;
      best = index;
    }
    return best;
  }
}
