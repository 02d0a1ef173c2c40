import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { StartTaskMessage } from '../../src/domain/message.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { silentLogger } from '@heddle/base/log';
import { seededRandom } from '@heddle/base/random';
import { newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';
import {
  beat,
  leaseBench,
  leased,
  LEASE_MS,
  limitOf,
  openLeases,
  sweepAll,
  usedSlots,
} from '../support/engine/lease-fixture.ts';

describe('many workers that die, stall, pause and come back', { concurrency: false }, () => {
  for (const seed of [1, 2, 3]) {
    test(`story ${seed}: every task ends once, no slot and no lease is left`, async () => {
      const bench = await leaseBench();
      const { engine, clock, database } = bench;
      const random = seededRandom(seed);
      const drawn = (below: number): number => Math.floor(random.next() * below);
      const sent: StartTaskMessage[] = [];
      const queue = {
        sendIn: (_tx: unknown, _queue: string, messages: readonly { body: string }[]) => {
          sent.push(...messages.map(({ body }) => JSON.parse(body) as StartTaskMessage));
          return Promise.resolve();
        },
      };
      const engines = Array.from({ length: 3 }, () =>
        createEngine({ database, clock, random, log: silentLogger, queue, workerLeaseMs: LEASE_MS }),
      );
      const seen = (): Promise<void> => engine.workersSeen([{ worker: 'w', kinds: ['queued'], concurrency: 5 }]);
      await seen();
      const { tasks } = await submitTasks(
        engine,
        Array.from({ length: 60 }, (_, index) => {
          const kind = index % 2 === 0 ? 'queued' : 'work';
          const rules =
            index % 3 === 0 ? [] : [limitOf(kind, 7), ...(index % 3 === 1 ? [limitOf(kind, 60, 'capacity')] : [])];
          return newTask({ kind, expected_count: drawn(20), rules });
        }),
      );
      const held: { id: string; attempt: number }[] = [];
      const play = async (): Promise<void> => {
        const one = engines[drawn(3)]!;
        const some = held.filter(() => drawn(3) === 0);
        switch (drawn(9)) {
          case 0:
            held.push(...(await leased({ ...bench, engine: one }, 8)));
            return;
          case 1:
            held.push(...(await one.dispatch('manager', 8)).map(({ task }) => task));
            return;
          case 2:
          case 3:
            await one.heartbeat(some.flatMap((task) => [beat(task, { new_success: drawn(3) }), beat(task)]));
            return;
          case 4:
            // Some die without a word; those that do report may be late.
            await succeed(one, some);
            held.splice(0, drawn(4));
            return;
          case 5:
            await one.release(some.slice(0, 2).map(({ id, attempt }) => ({ task_id: id, attempt })));
            return;
          case 6:
            await one.pause(some.slice(0, 2).map(({ id }) => id));
            return;
          case 7:
            await one.resume(tasks.map(({ id }) => id));
            return;
          default:
            await one.cancel(some.slice(0, 1).map(({ id }) => id));
        }
      };
      for (let round = 0; round < 40; round += 1) {
        await seen();
        await Promise.all(Array.from({ length: 4 }, play));
        await clock.advance(drawn(LEASE_MS / 2));
        await Promise.all(engines.map((one) => one.sweep()));
      }
      // Whatever waits in the queue is run by a worker that lives; leases of the dead expire.
      await engine.resume(tasks.map(({ id }) => id));
      const isOpen = async (id: string): Promise<boolean> =>
        ['claimed', 'running', 'pending'].includes((await engine.getTask(id))!.state);
      for (let round = 0; round < 40; round += 1) {
        await succeed(engine, [...sent.splice(0).map(({ task }) => task), ...(await leased(bench))]);
        await seen();
        await engines[0]!.dispatch('manager', 100);
        await clock.advance(LEASE_MS);
        await sweepAll(bench);
        const open = await Promise.all(tasks.map(({ id }) => isOpen(id)));
        if (!open.includes(true)) break;
      }
      for (const { id } of tasks) {
        const task = await engine.getTask(id);
        assert.ok(
          ['succeeded', 'canceled', 'failed'].includes(task!.state),
          `${task!.state}: ${task!.failure_reason ?? ''}`,
        );
      }
      await clock.advance(3_600_000);
      await sweepAll(bench);
      assert.deepEqual([await usedSlots(bench), await openLeases(bench)], [0, { n: 0, open: 0 }]);
      const { remaining } = (await engine.getWorkflow((await engine.getTask(tasks[0]!.id))!.workflow_id))!;
      assert.equal(remaining, 0);
    });
  }
});
