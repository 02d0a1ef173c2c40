import { after } from 'node:test';
import { createEngine } from '../../../../src/engine/engine.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { seededRandom } from '@heddle/base/random';
import type { Statement } from '../../../../src/store/database.ts';
import type { Scenario } from '../../domain/scenario.ts';
import type { TreeScenario } from '../../domain/tree-scenario.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { CLAIM_TIMEOUT_MS, SideBySide } from './side-by-side.ts';
import type { Subject } from './side-by-side.ts';
import { TreesSideBySide } from './trees-side-by-side.ts';

// Kinds and shapes stay, since an engine may remember them; every scenario has kinds of its own.
const CLEAR: Statement = {
  name: 'property_clear',
  text: `truncate heddle.workflow, heddle.task, heddle.task_spec, heddle.task_attempt, heddle.edge, heddle.relay, heddle.ready, heddle.delayed,
         heddle.blocked, heddle.slot, heddle.lease, heddle.delivery, heddle.container, heddle.container_generator, heddle.generator,
         heddle.finalization`,
};

type Play<Of> = (scenario: Of) => Promise<void>;

/**
 * Makes a database and an engine on virtual time. Scenarios play one after the other on an emptied database: one that was
 * interrupted at its test's time limit still comes to completion first.
 */
async function openPlayer<Of>(
  play: (subject: Subject, prefix: string, scenario: Of) => Promise<void>,
): Promise<Play<Of>> {
  const { database } = await createTestDatabase();
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const engine = createEngine({ database, clock, random, log: silentLogger, claimTimeoutMs: CLAIM_TIMEOUT_MS });
  let last: Promise<void> = Promise.resolve();
  let scenarios = 0;
  after(async () => {
    await last.catch(() => undefined);
    await engine.close();
  });
  return (scenario) => {
    last = last
      .catch(() => undefined)
      .then(async () => {
        await database.query(CLEAR);
        scenarios += 1;
        await play({ engine, database, clock }, `s${scenarios}-`, scenario);
      });
    return last;
  };
}

/** Returns what plays a scenario of tasks with dependencies on a database and on the model side by side. */
export function openSideBySide(): Promise<Play<Scenario>> {
  return openPlayer((subject, prefix, scenario) => new SideBySide(subject, prefix).play(scenario));
}

/** Returns what plays a scenario of trees on a database and on the model side by side. */
export function openTreesSideBySide(): Promise<Play<TreeScenario>> {
  return openPlayer((subject, prefix, scenario) => new TreesSideBySide(subject, `${prefix}work`).play(scenario));
}
