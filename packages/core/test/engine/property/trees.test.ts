import { test } from 'node:test';
import fc from 'fast-check';
import { treeScenarioArbitrary } from '../../support/domain/tree-scenario.ts';
import type { TreeSize } from '../../support/domain/tree-scenario.ts';
import { openTreesSideBySide } from '../../support/engine/property/connection.ts';

/**
 * Trees in the database against the model. HEDDLE_PROPERTY_RUNS multiplies the effort with fresh seeds;
 * HEDDLE_PROPERTY_SEED and HEDDLE_PROPERTY_PATH play again what a failure printed.
 */
const EXTRA_RUNS = process.env['HEDDLE_PROPERTY_RUNS'];
const SEED = process.env['HEDDLE_PROPERTY_SEED'];
const PATH = process.env['HEDDLE_PROPERTY_PATH'];

const playSideBySide = await openTreesSideBySide();

function agrees(name: string, size: TreeSize, runs: number): void {
  test(name, () =>
    fc.assert(fc.asyncProperty(treeScenarioArbitrary(size), playSideBySide), {
      numRuns: runs * Number(EXTRA_RUNS ?? 1),
      // One seed makes `npm test` the same every time.
      ...(EXTRA_RUNS === undefined ? { seed: 20_260_101 } : {}),
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      ...(PATH === undefined ? {} : { path: PATH }),
    }),
  );
}

agrees('policies and sequences in small trees', { width: 3, depth: 3, commands: 20, workflows: 1 }, 25);
agrees('generators beside everything else', { width: 3, depth: 3, commands: 35, operators: false }, 20);
agrees('generators of several attempts', { width: 2, depth: 2, commands: 60, operators: false, attempts: true }, 15);
agrees('operators, leases and time on several trees', { width: 4, depth: 4, commands: 40, delays: true }, 20);
agrees('wide containers', { width: 24, depth: 2, commands: 25, workflows: 1 }, 3);
agrees('deep trees', { width: 3, depth: 12, nested: true, commands: 25, workflows: 1 }, 3);
agrees(
  'tasks that disable what comes after them',
  { width: 5, depth: 3, commands: 50, workflows: 1, decisions: true },
  40,
);
