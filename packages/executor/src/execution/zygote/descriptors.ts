import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs';

import type { Native } from './native.ts';

const NOTHING = '/dev/null';

/** Open descriptors and what they refer to. */
export type Descriptors = ReadonlyMap<number, string>;

/** Returns the descriptors of this process from a number on. */
export function openDescriptors(first: number): Descriptors {
  const open = new Map<number, string>();
  for (const name of readdirSync('/proc/self/fd')) {
    // The one that lists them is closed by now.
    const target = targetOf(Number(name));
    if (target !== null && Number(name) >= first) open.set(Number(name), target);
  }
  return open;
}

/**
 * Replaces descriptors of the zygote in a forked process, which would share their pipes with others. The fork has
 * already renewed those that signals use; the event loop then closes those that it renews.
 *
 * @returns a function that closes the rest
 */
export function replaceDescriptors(native: Native, inherited: Descriptors): () => void {
  const replaced = [...inherited].filter(([descriptor, target]) => targetOf(descriptor) === target);
  const nothing = openSync(NOTHING, 'r');
  for (const [descriptor] of replaced) native.check('dup2', nothing, descriptor);
  closeSync(nothing);
  return () => {
    for (const [descriptor] of replaced) if (targetOf(descriptor) === NOTHING) closeSync(descriptor);
  };
}

function targetOf(descriptor: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return null;
  }
}
