import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs';

import type { Native } from './native.ts';

const NOTHING = '/dev/null';

/** Returns the open descriptors of this process. */
export function openDescriptors(): readonly number[] {
  // The one that lists them is closed by now.
  return readdirSync('/proc/self/fd').map(Number).filter((descriptor) => targetOf(descriptor) !== null);
}

/**
 * Replaces descriptors of the zygote in a forked process, which would share their pipes with others. The event loop
 * then closes those that it renews.
 *
 * @returns a function that closes the rest
 */
export function replaceDescriptors(native: Native, descriptors: readonly number[]): () => void {
  const nothing = openSync(NOTHING, 'r');
  for (const descriptor of descriptors) native.check('dup2', nothing, descriptor);
  closeSync(nothing);
  return () => {
    for (const descriptor of descriptors) if (targetOf(descriptor) === NOTHING) closeSync(descriptor);
  };
}

function targetOf(descriptor: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return null;
  }
}
