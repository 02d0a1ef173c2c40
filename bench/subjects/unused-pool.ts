import type { PoolOperations } from '@heddle/core/pool/pool-port';

const unused = (): never => {
  throw new Error('no request of the benches is for the pool of runners');
};

/** Stands in for a pool that is never called. */
export const unusedPool: PoolOperations = {
  classes: unused,
  status: unused,
  census: unused,
  runners: unused,
  waiting: unused,
  granted: unused,
  request: unused,
  requests: unused,
  onSettled: unused,
  history: unused,
  provision: unused,
  hold: unused,
  releaseHold: unused,
  release: unused,
  drain: unused,
  terminate: unused,
  refresh: unused,
};
