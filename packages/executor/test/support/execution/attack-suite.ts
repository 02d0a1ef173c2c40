import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { ExecutionTier, JobOutcome } from '../../../src/execution/port.ts';
import type { Tier } from '../../../src/protocol/messages.ts';
import { eventually } from '@heddle/test-support/eventually';
import { type Attack, ATTACKS, type Expectation } from './attack-table.ts';
import { AttackCode, resultOf, run, tryTier } from './fixture.ts';
import { processesOfTasks, traces, type Traces } from '@heddle/test-support/executor/execution/traces';

/** Processes per spare: in the jail, bubblewrap and its child. */
const SPARE_PROCESSES: Readonly<Record<Tier, number>> = { pooled: 1, process: 1, jail: 2, container: 0 };
/** Where no task shares its process with another, an honest one follows after this number of attacks. */
const HEALTHY_EACH = 10;
const PARENT_GROWTH_BYTES_MAX = 96 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

function endOf(attack: Attack, tier: Tier): readonly Expectation[] | null {
  const end = attack.but?.[tier];
  if (end === null) return null;
  return [end ?? attack.ends].flat();
}

function fits(outcome: JobOutcome, expected: Expectation): boolean {
  if (typeof expected === 'string') return outcome.status === 'error' && outcome.code === expected;
  if (outcome.status === 'error') return false;
  try {
    assert.deepEqual(resultOf(outcome), expected.result);
    return true;
  } catch {
    return false;
  }
}

function shown(outcome: JobOutcome): string {
  if (outcome.status === 'success') return Buffer.from(outcome.result).toString().slice(0, 300);
  return `${outcome.code}: ${outcome.message} ${outcome.details?.join(' ') ?? ''}`.slice(0, 600);
}

const server = createServer((socket) => void socket.destroy());
const port = await new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
});
const code = await AttackCode.make();
after(async () => {
  server.close();
  await code[Symbol.asyncDispose]();
});

/** Runs all attacks of the table in one tier, or reports why not. */
export async function attack(name: Tier): Promise<void> {
  const earlier: Traces = traces();
  const opened = await tryTier(name);
  if (typeof opened === 'string') {
    test(`attacks in the tier ${name}`, (t) => t.skip(`NOT RUN, the tier ${name} is not available here: ${opened}`));
    return;
  }
  describe(`attacks in the tier ${name}`, () => attackAll(opened, name, earlier));
}

function attackAll(tier: ExecutionTier, name: Tier, earlier: Traces): void {
  let bytesBefore: number;
  before(async () => {
    resultOf(await run(tier, code.module('healthy'), 'healthy'));
    bytesBefore = heldBytes();
  });

  for (const [index, attack] of ATTACKS.entries()) {
    test(attack.event, async (t) => {
      const ends = endOf(attack, name);
      if (ends === null) {
        t.skip(`not applicable: the tier ${name} makes no guarantee here`);
        return;
      }
      if (attack.needs === 'own users' && process.getuid?.() !== 0) {
        t.skip('NOT RUN: tasks have separate users only as root');
        return;
      }
      const args = { parent: process.pid, port, ...attack.args };
      const outcome = await run(tier, code.module(attack.module), attack.event, { ...attack, args });
      assert.ok(
        ends.some((end) => fits(outcome, end)),
        shown(outcome),
      );
      if (name === 'pooled' || index % HEALTHY_EACH === 0) {
        const healthy = await run(tier, code.module('healthy'), 'healthy', { args: { after: attack.event } });
        assert.deepEqual(resultOf(healthy), { got: { after: attack.event } });
      }
      await eventually(() => processesOfTasks().length <= SPARE_PROCESSES[name], `no process left of ${attack.event}`);
    });
  }

  after(async () => {
    await tier.close();
    const later = traces();
    assert.deepEqual(later.processes, []);
    assert.equal(later.mounts, earlier.mounts, 'mounts');
    assert.ok(later.descriptors <= earlier.descriptors, `descriptors: ${earlier.descriptors} to ${later.descriptors}`);
    assert.deepEqual(later.directories, earlier.directories);
    assert.deepEqual(later.groups, earlier.groups);
    const growth = heldBytes() - bytesBefore;
    assert.ok(growth < PARENT_GROWTH_BYTES_MAX, `the executor holds ${growth} bytes more`);
  });
}
