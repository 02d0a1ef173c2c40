import { readFileSync } from 'node:fs';

/** Processor time of this thread so far, in milliseconds: how much was done, however busy the machine is. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * Time for which the main thread was ready to run so far while others had the processors, in milliseconds; 0 if the
 * system does not report it. A wait without it is one that this program caused.
 */
export function keptWaitingMs(): number {
  try {
    // Processor time, time in the queue of a processor, turns; both times in nanoseconds.
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
