import { availableParallelism, loadavg } from 'node:os';

/** The tests themselves make a load of about two processes for each processor. */
const LOAD_OF_TESTS = 2;

/** So many times longer than usual a wait may take where others work on the machine, too. */
export function patience(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism() / LOAD_OF_TESTS);
}
