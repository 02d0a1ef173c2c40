/** Milliseconds for which this thread has run code so far, and could take no answer that had come. */
export function eventLoopActiveMs(): number {
  return performance.eventLoopUtilization().active;
}
