import { setFlagsFromString } from 'node:v8';

import { keepNewSpaceSmall } from '../new-space.ts';

/**
 * A scan makes much that is of no use a moment later, and V8 would rather let its heap grow than collect that: to two or
 * three times what is in use. These two are read at each collection, so they hold for a heap that exists already: new
 * objects keep the room they begin with, and the rest grows by half before it is collected again. Costs one twentieth of
 * the time. Holds for the whole process, so it is only for one that does nothing but scan.
 */
export function keepHeapSmall(): void {
  keepNewSpaceSmall();
  setFlagsFromString('--heap-growing-percent=50');
}
