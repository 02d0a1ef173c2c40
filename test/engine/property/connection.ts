import { after } from 'node:test';
import { createEngine } from '../../../src/engine/engine.ts';
import { VirtualClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/log.ts';
import { seededRandom } from '../../../src/runtime/random.ts';
import type { Statement } from '../../../src/store/database.ts';
import type { Scenario } from '../../domain/scenario.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { CLAIM_TIMEOUT_MS, SideBySide } from './side-by-side.ts';

// Kinds and shapes stay, since an engine may remember them; every scenario has kinds of its own.
const CLEAR: Statement = {
  name: 'property_clear',
  text: `truncate heddle.workflow, heddle.task, heddle.task_spec, heddle.edge, heddle.relay, heddle.ready, heddle.delayed,
         heddle.blocked, heddle.slot, heddle.lease, heddle.delivery`,
};

/** Makes a database and an engine on virtual time; returns what plays a scenario on it and on the model side by side. */
export async function openSideBySide(): Promise<(scenario: Scenario) => Promise<void>> {
  const { database } = await createTestDatabase();
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const engine = createEngine({ database, clock, random, log: silentLogger, claimTimeoutMs: CLAIM_TIMEOUT_MS });
  after(() => engine.close());
  let scenarios = 0;
  return async (scenario) => {
    await database.query(CLEAR);
    scenarios += 1;
    await new SideBySide({ engine, database, clock }, `s${scenarios}-`).play(scenario);
  };
}
