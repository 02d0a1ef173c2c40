/**
 * Executes simulator runs in a separate thread: within a test, the test runner tracks every promise, and a run consists
 * of promises.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { messageOf } from '@heddle/base/thrown';
import type { Driver } from './site.ts';
import { World, type Outcome } from './world.ts';

export interface Run {
  readonly seed: number;
  readonly driver: Driver;
}

interface Failure {
  readonly failed: string;
}

/** @throws an error with the way to reproduce the run, if a run fails */
export function runAll(runs: readonly Run[]): Promise<Outcome[]> {
  const worker = new Worker(new URL(import.meta.url), { workerData: runs });
  return new Promise((resolve, reject) => {
    worker.once('message', (answer: Outcome[] | Failure) => {
      if ('failed' in answer) reject(new Error(answer.failed));
      else resolve(answer);
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the thread of the simulator ended without an answer')));
  });
}

async function runOne({ seed, driver }: Run): Promise<Outcome> {
  const world = new World(seed, driver);
  try {
    return await world.run();
  } catch (error) {
    const what = messageOf(error);
    const again = `HEDDLE_POOL_SEED=${seed} node --test test/pool/simulator/simulator.test.ts`;
    const led = `what led to it:\n${world.chronicle.tail}`;
    throw new Error(`${what}\nrun ${seed} with ${driver}; again: ${again}\n${led}`, { cause: error });
  }
}

async function answer(runs: readonly Run[]): Promise<Outcome[] | Failure> {
  const outcomes: Outcome[] = [];
  try {
    for (const run of runs) outcomes.push(await runOne(run));
    return outcomes;
  } catch (error) {
    return { failed: messageOf(error) };
  }
}

if (!isMainThread && parentPort !== null) parentPort.postMessage(await answer(workerData as readonly Run[]));
