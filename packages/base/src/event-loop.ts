/** Returns the milliseconds for which this thread has run code so far, and could not process events. */
export function eventLoopActiveMs(): number {
  return performance.eventLoopUtilization().active;
}
