import { Division, type DividedObject, type SegmentResult } from './division.ts';

/** The segments of a divided object in the thread that has it, in order. */
export class SegmentQueue {
  readonly division: Division;
  readonly #arrived = new Map<number, SegmentResult>();
  /** The segment in progress. */
  #current: number;
  /** Segments below that have not arrived may never do so. */
  #doubtfulBelow = 0;
  #waiting: PromiseWithResolvers<null> | null = null;

  /** @param current the segment that the thread is at */
  constructor(object: DividedObject, current = 0) {
    this.division = new Division(object);
    this.division.moveTo(current);
    this.#current = current;
  }

  /** Number of the next segment. */
  get next(): number {
    return this.#current + 1;
  }

  /** Offset of the next segment. */
  get boundary(): number {
    return this.next * this.division.object.segmentBytes;
  }

  /**
   * Moves to the next segment. Returns it if it was scanned ahead, null if this thread scans it; a promise, without
   * moving, while another thread scans it.
   */
  take(): SegmentResult | null | Promise<null> {
    const { next } = this;
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
    this.division.helperLeft();
    this.wake();
  }

  /** Has `take` called again. */
  wake(): void {
    this.#waiting?.resolve(null);
    this.#waiting = null;
  }
}
