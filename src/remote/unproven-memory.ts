/** What one connection holds of requests that are not complete, while nobody has proven a key over it. */
export interface UnprovenShare {
  /** Sets how many bytes it holds now; 0 where no request is unfinished. May cut this connection, or others. */
  hold(bytes: number): void;
  /** It counts no more: a key was proven over it, or it is closed. */
  leave(): void;
}

interface Share extends UnprovenShare {
  readonly address: string;
  readonly bytes: number;
  cut(): void;
}

/** Of all listeners of an executor together, unless told otherwise. */
export const UNPROVEN_BYTES_MAX = 64 * 1024 * 1024;

/** An address that holds more than this part of the total makes room before any other. */
const CROWDED_PART = 1 / 4;

/**
 * The memory that unfinished requests of unproven callers hold, of all listeners together. Where it is full, the address that
 * holds more than a quarter of it, and the most, makes room; where there is none, all do. Of these, the request that began
 * first has to go: to hold memory takes staying unfinished, and an honest request is complete soon after it began.
 */
export class UnprovenMemory {
  readonly bytesMax: number;
  #bytes = 0;
  /** In the order in which their unfinished requests began. */
  readonly #holding = new Set<Share>();
  readonly #byAddress = new Map<string, number>();

  constructor(bytesMax = UNPROVEN_BYTES_MAX) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @param cut lets go of what the connection holds, by the time that it returns */
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
