import { type Address, formatIpv4, formatIpv6, parseAddress } from '@heddle/base/net/address';
import { type AddressRange } from '@heddle/base/net/network';
import { IntervalSet } from './interval-set.ts';

/** An immutable set of addresses of both families, as ranges. */
export class AddressSet {
  readonly v4: IntervalSet<number>;
  readonly v6: IntervalSet<bigint>;

  static of(ranges: Iterable<AddressRange>): AddressSet {
    const builder = new AddressSetBuilder();
    for (const range of ranges) builder.add(range);
    return builder.build();
  }

  constructor(v4: IntervalSet<number>, v6: IntervalSet<bigint>) {
    this.v4 = v4;
    this.v6 = v6;
  }

  /** The number of addresses. */
  get count(): bigint {
    return this.v4.count + this.v6.count;
  }

  get ranges(): AddressRange[] {
    return [
      ...this.v4.intervals.map((each): AddressRange => ({ family: 4, ...each })),
      ...this.v6.intervals.map((each): AddressRange => ({ family: 6, ...each })),
    ];
  }

  has(address: Address): boolean {
    return address.family === 4 ? this.v4.has(address.value) : this.v6.has(address.value);
  }

  /** Returns whether a string is an address in the set. */
  hasText(text: string): boolean {
    const address = parseAddress(text);
    return address !== null && this.has(address);
  }

  union(other: AddressSet): AddressSet {
    return new AddressSet(this.v4.union(other.v4), this.v6.union(other.v6));
  }

  intersect(other: AddressSet): AddressSet {
    return new AddressSet(this.v4.intersect(other.v4), this.v6.intersect(other.v6));
  }

  without(other: AddressSet): AddressSet {
    return new AddressSet(this.v4.without(other.v4), this.v6.without(other.v6));
  }
}

/** Collects ranges one by one, each stored as two numbers until the set is built. */
export class AddressSetBuilder {
  readonly #v4: { firsts: number[]; lasts: number[] } = { firsts: [], lasts: [] };
  readonly #v6: { firsts: bigint[]; lasts: bigint[] } = { firsts: [], lasts: [] };

  add(range: AddressRange): void {
    if (range.family === 4) {
      this.#v4.firsts.push(range.first);
      this.#v4.lasts.push(range.last);
    } else {
      this.#v6.firsts.push(range.first);
      this.#v6.lasts.push(range.last);
    }
  }

  build(): AddressSet {
    const v4 = IntervalSet.numbers(this.#v4.firsts, this.#v4.lasts);
    return new AddressSet(v4, IntervalSet.bigints(this.#v6.firsts, this.#v6.lasts));
  }
}

export function rangeSize(range: AddressRange): bigint {
  return range.family === 4 ? BigInt(range.last - range.first) + 1n : range.last - range.first + 1n;
}

/** Returns `10.0.0.1`, or `10.0.0.1-10.0.0.9`. */
export function rangeText(range: AddressRange): string {
  const [first, last] =
    range.family === 4
      ? [formatIpv4(range.first), formatIpv4(range.last)]
      : [formatIpv6(range.first), formatIpv6(range.last)];
  return first === last ? first : `${first}-${last}`;
}
