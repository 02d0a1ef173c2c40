/** Memory account of one unproven connection's incomplete requests. */
export interface UnprovenShare {
  /** Sets the bytes held now; 0 if no request is incomplete. May cut this or other connections. */
  hold(bytes: number): void;
  /** Stops counting, because a key was proven or the connection closed. */
  leave(): void;
}

interface Share extends UnprovenShare {
  readonly address: string;
  readonly bytes: number;
  cut(): void;
}

/** Default total for all listeners of an executor. */
export const UNPROVEN_BYTES_MAX = 64 * 1024 * 1024;

/** Share of the total beyond which an address is evicted first. */
const CROWDED_PART = 1 / 4;

/**
 * Memory of incomplete requests from unproven callers, across all listeners. When it is full, the oldest request of the
 * address that uses the most, if more than a quarter, is evicted; otherwise the oldest of all. Holding memory requires
 * staying incomplete, whereas legitimate requests complete quickly.
 */
export class UnprovenMemory {
  readonly bytesMax: number;
  #bytes = 0;
  /** Accounts in the order in which their incomplete requests began. */
  readonly #holding = new Set<Share>();
  readonly #byAddress = new Map<string, number>();

  constructor(bytesMax = UNPROVEN_BYTES_MAX) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @param cut frees the connection's memory before it returns */
  join(address: string, cut: () => void): UnprovenShare {
    let bytes = 0;
    let left = false;
    const set = (next: number): void => {
      const delta = next - bytes;
      if (delta === 0) return;
      if (bytes === 0) this.#holding.add(share);
      bytes = next;
      if (next === 0) this.#holding.delete(share);
      this.#count(address, delta);
    };
    const share: Share = {
      address,
      get bytes() {
        return bytes;
      },
      cut,
      hold: (next) => {
        if (left) return;
        const isMore = next > bytes;
        set(next);
        if (isMore) this.#makeRoom();
      },
      leave: () => {
        left = true;
        set(0);
      },
    };
    return share;
  }

  #count(address: string, delta: number): void {
    this.#bytes += delta;
    const held = (this.#byAddress.get(address) ?? 0) + delta;
    if (held === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, held);
  }

  #makeRoom(): void {
    while (this.#bytes > this.bytesMax) {
      const victim = this.#victim();
      if (victim === undefined) return;
      victim.leave();
      victim.cut();
    }
  }

  #victim(): Share | undefined {
    const crowded = this.#crowdedAddress();
    for (const share of this.#holding) if (crowded === null || share.address === crowded) return share;
    return undefined;
  }

  #crowdedAddress(): string | null {
    let most = this.bytesMax * CROWDED_PART;
    let crowded: string | null = null;
    for (const [address, bytes] of this.#byAddress) {
      if (bytes <= most) continue;
      most = bytes;
      crowded = address;
    }
    return crowded;
  }
}
