import { after } from 'node:test';
import { createEngine } from '../../../src/engine/engine.ts';
import { VirtualClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/log.ts';
import { seededRandom } from '../../../src/runtime/random.ts';
import type { Statement } from '../../../src/store/database.ts';
import type { Scenario } from '../../domain/scenario.ts';
import type { TreeScenario } from '../../domain/tree-scenario.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { CLAIM_TIMEOUT_MS, SideBySide } from './side-by-side.ts';
import type { Subject } from './side-by-side.ts';
import { TreesSideBySide } from './trees-side-by-side.ts';

// Kinds and shapes stay, since an engine may remember them; every scenario has kinds of its own.
const CLEAR: Statement = {
  name: 'property_clear',
  text: `truncate heddle.workflow, heddle.task, heddle.task_spec, heddle.edge, heddle.relay, heddle.ready, heddle.delayed,
         heddle.blocked, heddle.slot, heddle.lease, heddle.delivery, heddle.container, heddle.filler, heddle.generator,
         heddle.finalization`,
};

/** Makes a database and an engine on virtual time; returns what empties it for the next scenario, with its number. */
async function openSubject(): Promise<() => Promise<{ subject: Subject; prefix: string }>> {
  const { database } = await createTestDatabase();
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const engine = createEngine({ database, clock, random, log: silentLogger, claimTimeoutMs: CLAIM_TIMEOUT_MS });
  after(() => engine.close());
  let scenarios = 0;
  return async () => {
    await database.query(CLEAR);
    scenarios += 1;
    return { subject: { engine, database, clock }, prefix: `s${scenarios}-` };
  };
}

/** Returns what plays a scenario of tasks with dependencies on a database and on the model side by side. */
export async function openSideBySide(): Promise<(scenario: Scenario) => Promise<void>> {
  const next = await openSubject();
  return async (scenario) => {
    const { subject, prefix } = await next();
    await new SideBySide(subject, prefix).play(scenario);
  };
}

/** Returns what plays a scenario of trees on a database and on the model side by side. */
export async function openTreesSideBySide(): Promise<(scenario: TreeScenario) => Promise<void>> {
  const next = await openSubject();
  return async (scenario) => {
    const { subject, prefix } = await next();
    await new TreesSideBySide(subject, `${prefix}work`).play(scenario);
  };
}
