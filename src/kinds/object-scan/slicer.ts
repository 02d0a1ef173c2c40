import type { SourceSpec } from '../../scan/options.ts';
import type { Partition } from './input.ts';

/** A part of the sources, as large as one task may be. */
export interface Part {
  sources: SourceSpec[];
  /** As far as it was counted: the last part of all may hold more. */
  objects: number;
  bytes: number;
}

/** Objects of one source on their way into parts. */
export class PartMeter {
  readonly #partition: Partition;
  objects = 0;
  bytes = 0;

  constructor(partition: Partition) {
    this.#partition = partition;
  }

  /** Whether one more object would be too many, or too much. An object larger than a part has one of its own. */
  isFullFor(size: number): boolean {
    const { objects_max, bytes_max } = this.#partition;
    if (this.objects === 0) return false;
    return this.objects >= objects_max || this.bytes + size > bytes_max;
  }

  add(size: number): void {
    this.objects += 1;
    this.bytes += size;
  }

  reset(): void {
    this.objects = 0;
    this.bytes = 0;
  }
}
