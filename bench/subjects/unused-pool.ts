import type { PoolOperations } from '../../src/pool/pool-port.ts';

const unused = (): never => {
  throw new Error('no request of the benches is for the pool of runners');
};

/** In place of a pool where nobody asks it anything. */
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
