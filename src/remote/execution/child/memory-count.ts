import { closeSync, openSync, readSync } from 'node:fs';

/** Of what the task had at its start. */
const SHARE_LEFT_MAX = 0.25;

// Kept before any code of an event is loaded, and before there could be no memory for it.
const [open, read, close] = [openSync, readSync, closeSync];
const buffer = Buffer.alloc(4096);
const bytesAtStart = bytesLeft();

/**
 * Whether hardly anything is left of the memory that the kernel gives this process, by the kernel's count. False where it
 * sets no such limit.
 */
export function isMemoryUsedUp(): boolean {
  return bytesAtStart !== null && (bytesLeft() ?? Infinity) < bytesAtStart * SHARE_LEFT_MAX;
}

/** Null where there is no limit. */
function bytesLeft(): number | null {
  const limit = numberIn('/proc/self/limits', /^Max data size\s+(\d+)\s/m);
  const used = numberIn('/proc/self/status', /^VmData:\s+(\d+) kB/m);
  return limit === null || used === null ? null : limit - used * 1024;
}

function numberIn(path: string, pattern: RegExp): number | null {
  try {
    const descriptor = open(path, 'r');
    try {
      const [, digits] = pattern.exec(buffer.toString('latin1', 0, read(descriptor, buffer))) ?? [];
      return digits === undefined ? null : Number(digits);
    } finally {
      close(descriptor);
    }
  } catch {
    return null;
  }
}
