import { statSync } from 'node:fs';

import type { SourceSpec } from '../options.ts';
import { atPath } from '../source/deep-path.ts';
import type { NumberedObject } from './numbered-object.ts';

/** Adds the size of a file to an object without one: directories are listed without the sizes of their files. */
export function measureObject(object: NumberedObject, { type }: SourceSpec): void {
  if (object.size_hint >= 0 || (type !== 'path' && type !== 'list')) return;
  try {
    object.size_hint = atPath(object.locator, (path) => statSync(path).size);
  } catch {
    // Reading it reports why.
  }
}
