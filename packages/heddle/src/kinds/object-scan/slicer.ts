import type { SourceSpec } from '@heddle/scan/options';
import type { Partition } from './input.ts';

/** A part of the sources, sized for one task. */
export interface Part {
  sources: SourceSpec[];
  /** Counted objects and bytes: the very last part may hold more. */
  objects: number;
  bytes: number;
}

/** Divides the objects of one source into parts. */
export class PartMeter {
  readonly #partition: Partition;
  objects = 0;
  bytes = 0;

  constructor(partition: Partition) {
    this.#partition = partition;
  }

  /** Returns whether one more object would exceed the part. An object larger than a part has its own. */
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
