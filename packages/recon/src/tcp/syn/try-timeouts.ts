import { AdaptiveTimeouts } from '../adaptive-timeouts.ts';

/** Maximum number of halvings from the limit to the shortest timeout. */
const CLASSES_MAX = 16;
const CLASS_MIN_MS = 100;
const IPV6_NETWORKS_AT = 2 ** 24;

/**
 * Computes the timeout of each attempt from the response times of its network (the /24 or /48) so far. Timeouts are
 * the limit, its half, its quarter and so on down to 100 ms: attempts with equal timeouts share a list, so nothing
 * needs sorting. The last attempt waits for the limit, so that a slow host among fast ones is not missed.
 */
export class TryTimeouts {
  /** Milliseconds of each class, the limit first. */
  readonly classesMs: readonly number[];
  readonly #triesMax: number;
  readonly #timeouts: AdaptiveTimeouts<number>;

  constructor(limitMs: number, triesMax: number) {
    const classes = 1 + Math.max(0, Math.floor(Math.log2(limitMs / CLASS_MIN_MS)));
    this.classesMs = Array.from({ length: Math.min(classes, CLASSES_MAX) }, (_, index) => limitMs / 2 ** index);
    this.#triesMax = triesMax;
    this.#timeouts = new AdaptiveTimeouts(limitMs);
  }

  /** @param tries packets sent before this one */
  classOf(words: Uint32Array, at: number, family: 4 | 6, tries: number): number {
    if (this.classesMs.length === 1 || tries + 1 >= this.#triesMax) return 0;
    const expectedMs = this.#timeouts.timeoutMs(networkOf(words, at, family), tries);
    let index = 0;
    while (index + 1 < this.classesMs.length && this.classesMs[index + 1]! >= expectedMs) index += 1;
    return index;
  }

  observe(words: Uint32Array, at: number, family: 4 | 6, rttMs: number): void {
    this.#timeouts.observe(networkOf(words, at, family), rttMs);
  }
}

function networkOf(words: Uint32Array, at: number, family: 4 | 6): number {
  const first = words[at]!;
  return family === 4 ? first >>> 8 : IPV6_NETWORKS_AT + first * 0x1_0000 + (words[at + 1]! >>> 16);
}
