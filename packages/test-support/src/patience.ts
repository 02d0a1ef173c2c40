import { availableParallelism, loadavg } from 'node:os';

/** The tests themselves make a load of about two processes for each processor. */
const LOAD_OF_TESTS = 2;

/** Factor by which waits may take longer on a machine that is busy with other work. */
export function patience(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism() / LOAD_OF_TESTS);
}
