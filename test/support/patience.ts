import { availableParallelism, loadavg } from 'node:os';

/** So many times longer than on a quiet machine a wait may take: as many as there are processes for each processor. */
export function patience(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}
