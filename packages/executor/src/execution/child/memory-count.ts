import { closeSync, openSync, readSync } from 'node:fs';

/** Share of the initially available memory. */
const SHARE_LEFT_MAX = 0.25;

// Captured before event code is loaded and before memory could run out.
const [open, read, close] = [openSync, readSync, closeSync];
const buffer = Buffer.alloc(4096);
let bytesAtStart = bytesLeft();

/** Counts from here on, after the limit has changed. */
export function restartMemoryCount(): void {
  bytesAtStart = bytesLeft();
}

/**
 * Returns whether the process has nearly exhausted its memory limit, by the kernel's count. False without such a limit.
 */
export function isMemoryUsedUp(): boolean {
  return bytesAtStart !== null && (bytesLeft() ?? Infinity) < bytesAtStart * SHARE_LEFT_MAX;
}

/** Returns null without a limit. */
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
