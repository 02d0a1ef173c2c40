import { setFlagsFromString } from 'node:v8';

import { keepNewSpaceSmall } from '@heddle/base/new-space';

/**
 * Limits the growth of the heap. A scan allocates many short-lived objects, and V8 would rather grow its heap to two or
 * three times the live data than collect them. V8 reads both flags at each collection, so they apply to an existing
 * heap: new space keeps its initial size, and old space grows by half before it is collected. This costs one twentieth
 * of the time and applies to the whole process, so it is only for a process that does nothing but scan. Threads that
 * start later begin with the new space that they may have at most: most of their start would be collections otherwise.
 */
export function keepHeapSmall(): void {
  keepNewSpaceSmall();
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--min-semi-space-size=4');
}
