import { setFlagsFromString } from 'node:v8';

import { keepNewSpaceSmall } from '@heddle/base/new-space';

const NEW_SPACE_OF_THREADS_MB = 2;

/**
 * Limits the growth of the heap. A scan allocates many short-lived objects, and V8 would rather grow its heap to two or
 * three times the live data than collect them. V8 reads the flags at each collection, so they apply to an existing
 * heap: new space keeps its initial size, and old space grows by half before it is collected. This costs one twentieth
 * of the time and applies to the whole process, so it is only for a process that does nothing but scan.
 *
 * Code is optimized in the thread that runs it: the threads that V8 has for this would keep some 5 MB each of what they
 * need for a moment, and take their time from the threads that scan.
 *
 * So small a new space is collected in a fraction of a millisecond by one thread: waking others takes longer. That of
 * the threads that scan, which begin later, is twice as large, since they allocate the most.
 */
export function keepHeapSmall(): void {
  keepNewSpaceSmall();
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--no-concurrent-recompilation');
  setFlagsFromString(`--min-semi-space-size=${NEW_SPACE_OF_THREADS_MB}`);
}
