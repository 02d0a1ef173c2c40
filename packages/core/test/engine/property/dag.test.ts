import { test } from 'node:test';
import fc from 'fast-check';
import { scenarioArbitrary } from '../../support/domain/scenario.ts';
import type { ScenarioSize } from '../../support/domain/scenario.ts';
import { openSideBySide } from '../../support/engine/property/connection.ts';

/**
 * The database against the model. HEDDLE_PROPERTY_RUNS multiplies the effort with fresh seeds; HEDDLE_PROPERTY_SEED and
 * HEDDLE_PROPERTY_PATH play again what a failure printed.
 */
const EXTRA_RUNS = process.env['HEDDLE_PROPERTY_RUNS'];
const SEED = process.env['HEDDLE_PROPERTY_SEED'];
const PATH = process.env['HEDDLE_PROPERTY_PATH'];

const playSideBySide = await openSideBySide();

function agrees(name: string, size: ScenarioSize, runs: number): void {
  test(name, () =>
    fc.assert(fc.asyncProperty(scenarioArbitrary(size), playSideBySide), {
      numRuns: runs * Number(EXTRA_RUNS ?? 1),
      // One seed makes `npm test` the same every time.
      ...(EXTRA_RUNS === undefined ? { seed: 20_260_101 } : {}),
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      ...(PATH === undefined ? {} : { path: PATH }),
    }),
  );
}

agrees('reports, operators and time on small DAGs', { tasks: 8, commands: 25, workflows: 1, rules: false }, 30);
agrees('rules with overlapping matchers', { tasks: 12, commands: 30, workflows: 2 }, 30);
agrees('dependencies between workflows', { tasks: 8, commands: 25, workflows: 3, storedParents: true }, 20);
agrees('plain tasks', { tasks: 4, commands: 40, workflows: 8, plain: true }, 40);
agrees(
  'plain tasks that depend on stored ones',
  { tasks: 3, commands: 30, workflows: 8, plain: true, storedParents: true },
  30,
);
agrees('DAGs of hundreds of tasks', { tasks: 300, commands: 60, workflows: 1 }, 3);
