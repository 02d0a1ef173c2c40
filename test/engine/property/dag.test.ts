import { after, test } from 'node:test';
import fc from 'fast-check';
import { createEngine } from '../../../src/engine/engine.ts';
import { VirtualClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/log.ts';
import { seededRandom } from '../../../src/runtime/random.ts';
import type { Statement } from '../../../src/store/database.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { scenarioArbitrary } from '../../domain/scenario.ts';
import type { ScenarioSize } from '../../domain/scenario.ts';
import { CLAIM_TIMEOUT_MS, SideBySide } from './side-by-side.ts';

/**
 * The database against the model. HEDDLE_PROPERTY_RUNS multiplies the effort with fresh seeds; HEDDLE_PROPERTY_SEED and
 * HEDDLE_PROPERTY_PATH play again what a failure printed.
 */
const EXTRA_RUNS = process.env['HEDDLE_PROPERTY_RUNS'];
const SEED = process.env['HEDDLE_PROPERTY_SEED'];
const PATH = process.env['HEDDLE_PROPERTY_PATH'];

// Kinds and shapes stay, since an engine may remember them; every scenario has kinds of its own.
const CLEAR: Statement = {
  name: 'property_clear',
  text: `truncate heddle.workflow, heddle.task, heddle.task_spec, heddle.edge, heddle.relay, heddle.ready, heddle.delayed,
         heddle.blocked, heddle.slot, heddle.lease, heddle.delivery`,
};

const { database } = await createTestDatabase();
const clock = new VirtualClock();
const engine = createEngine({
  database,
  clock,
  random: seededRandom(1),
  log: silentLogger,
  claimTimeoutMs: CLAIM_TIMEOUT_MS,
});
after(() => engine.close());
let scenarios = 0;

function agrees(name: string, size: ScenarioSize, runs: number, limitMs: number): void {
  test(name, async () => {
    const property = fc.asyncProperty(scenarioArbitrary(size), async (scenario) => {
      await database.query(CLEAR);
      scenarios += 1;
      await new SideBySide({ engine, database, clock }, `s${scenarios}-`).play(scenario);
    });
    await fc.assert(property, {
      numRuns: runs * Number(EXTRA_RUNS ?? 1),
      // One seed makes `npm test` the same every time.
      ...(EXTRA_RUNS === undefined ? { seed: 20_260_101 } : {}),
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      ...(PATH === undefined ? {} : { path: PATH }),
      interruptAfterTimeLimit: limitMs * Number(EXTRA_RUNS ?? 1),
      markInterruptAsFailure: false,
    });
  });
}

agrees('reports, operators and time on small DAGs', { tasks: 8, commands: 25, workflows: 1, rules: false }, 30, 12_000);
agrees('rules with overlapping matchers', { tasks: 12, commands: 30, workflows: 2 }, 30, 15_000);
agrees('dependencies between workflows', { tasks: 8, commands: 25, workflows: 3, storedParents: true }, 20, 13_000);
agrees('DAGs of hundreds of tasks', { tasks: 300, commands: 60, workflows: 1 }, 3, 15_000);
