import { Division, type DividedObject, type SegmentResult } from './division.ts';

/** The segments of a divided object in the thread that has it, in order. */
export class SegmentQueue {
  readonly division: Division;
  readonly #arrived = new Map<number, SegmentResult>();
  /** The segment in progress. */
  #current = 0;
  /** Segments below that have not arrived may never do so. */
  #doubtfulBelow = 0;
  #waiting: PromiseWithResolvers<null> | null = null;

  constructor(object: DividedObject) {
    this.division = new Division(object);
    this.division.moveTo(0);
  }

  /** Offset of the next segment. */
  get boundary(): number {
    return (this.#current + 1) * this.division.object.segmentBytes;
  }

  /**
   * Moves to the next segment. Returns it if it was scanned ahead, null if this thread scans it; a promise, without
   * moving, while another thread scans it.
   */
  next(): SegmentResult | null | Promise<null> {
    const next = this.#current + 1;
    const isOwn = this.division.moveTo(next);
    const arrived = this.#arrived.get(next) ?? null;
    if (!isOwn && arrived === null && next >= this.#doubtfulBelow) {
      this.#waiting ??= Promise.withResolvers<null>();
      return this.#waiting.promise;
    }
    this.#arrived.delete(next);
    this.#current = next;
    return arrived;
  }

  arrive(result: SegmentResult): void {
    if (result.segment > this.#current) this.#arrived.set(result.segment, result);
    this.wake();
  }

  /** A thread that scanned segments ahead has failed. */
  helperLost(): void {
    this.#doubtfulBelow = this.division.claimed;
    this.wake();
  }

  /** Has `next` called again. */
  wake(): void {
    this.#waiting?.resolve(null);
    this.#waiting = null;
  }
}
