/**
 * `npm run fuzz [-- --runs N] [--seed S] [--only frames|xml|envelopes]`: damaged frames, XML-RPC documents and signed
 * envelopes, two million in all unless told otherwise, against the readers of remote execution; some of each are sent to
 * real listeners on loopback. Memory is watched. The first case that fails is named by its seed, and ends the run.
 */
import { parseArgs } from 'node:util';

import { fuzz, TARGETS, type Target } from '../packages/executor/test/support/fuzz/run.ts';

/** Of the two million: what each target gets, by how much its cases cost. */
const RUNS: Readonly<Record<Target, number>> = { frames: 1_000_000, xml: 400_000, envelopes: 600_000 };

const { values } = parseArgs({
  options: { runs: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
});

function wholeNumber(name: string, given: string | undefined, fallback: number): number {
  if (given === undefined) return fallback;
  const value = Number(given);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${name}: must be a whole number, not ${given}`);
  process.exit(2);
}

function targets(only: string | undefined): readonly Target[] {
  if (only === undefined) return TARGETS;
  const target = TARGETS.find((name) => name === only);
  if (target !== undefined) return [target];
  console.error(`--only: must be one of ${TARGETS.join(', ')}, not ${only}`);
  process.exit(2);
}

const seed = wholeNumber('seed', values.seed, Date.now() % 2 ** 32);
const chosen = targets(values.only);
console.log(`seed ${seed}`);
for (const target of chosen) {
  const runs = wholeNumber('runs', values.runs, RUNS[target]);
  const startedAt = performance.now();
  const onProgress = (done: number): void => console.log(`${target}: ${done} of ${runs}`);
  try {
    await fuzz({ target, runs, seed, onProgress });
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
  const secs = (performance.now() - startedAt) / 1000;
  console.log(`${target}: ${runs} cases in ${secs.toFixed(1)} s, none failed`);
}
