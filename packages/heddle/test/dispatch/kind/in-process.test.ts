import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import * as z from 'zod';

import { defineKind, into, parallel, PartialFailure, task } from '@heddle/kit';
import { runKinds } from '../../../src/app/kinds.ts';
import { loadConfiguration } from '../../../src/app/config.ts';
import { StopSequence } from '../../../src/app/stop-sequence.ts';
import { parseManagerMessage } from '@heddle/core/domain/parse/message';
import type { Engine } from '@heddle/core/engine/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { newBench } from '@heddle/test-support/engine/fixture';
import { eventually } from '@heddle/test-support/eventually';

/** Stores a tree as it is submitted; returns its id. */
async function submitTree(engine: Engine, root: object): Promise<string> {
  const body = JSON.stringify({ type: 'CreateTaskCollection', collection: { name: 'test', root } });
  const parsed = parseManagerMessage(body, newId);
  assert.ok(parsed.ok && parsed.message.type === 'CreateTaskCollection');
  const { collection } = parsed.message;
  const [result] = await engine.submitWorkflows([
    { ...collection, traceparent: null, idempotency: null, job_run_id: null },
  ]);
  return result!.workflow_id;
}

describe('kinds in the process of the engine', () => {
  it('generate, run and aggregate a workflow, including a partial failure', async () => {
    const { engine } = await newBench();
    let most = 0;
    let open = 0;
    const part = defineKind({
      name: 'part',
      input: z.object({ n: z.number() }),
      concurrency: 3,
      run: async ({ n }, { progress }) => {
        most = Math.max(most, (open += 1));
        await progress(1);
        open -= 1;
        if (n === 7) throw new PartialFailure('seven is odd', { result: 0 });
        return n;
      },
    });
    const kinds = [
      part,
      defineKind({
        name: 'PartGenerator',
        *run() {
          // Into a container that it creates itself, over several batches.
          const box = parallel([], { key: 'box' });
          yield into('parts', box);
          for (let n = 0; n < 2500; n += 1) yield into(box, task(part, { n }, { policy: 'ContinueOnPartialFailure' }));
        },
      }),
      defineKind({
        name: 'Sum',
        run: async (_, { results }) => {
          let sum = 0;
          for await (const { kind, data } of results<number>()) if (kind === 'part') sum += data;
          return sum;
        },
      }),
    ];
    const stopping = new StopSequence(systemClock, silentLogger);
    const { values: settings } = loadConfiguration({ flags: {}, environment: {}, workingDirectory: '/' });
    const common = { clock: systemClock, random: systemRandom, log: silentLogger };
    runKinds(kinds, { settings, engine, stopping, ...common });
    const id = await submitTree(engine, {
      mode: 'sequential',
      policy: 'ContinueOnPartialFailure',
      children: [
        {
          mode: 'parallel',
          policy: 'ContinueOnPartialFailure',
          children: [
            { kind: 'PartGenerator' },
            { id: 'parts', mode: 'parallel', policy: 'ContinueOnPartialFailure', children: [] },
          ],
        },
        { kind: 'Sum' },
      ],
    });
    await eventually(
      async () => {
        await engine.completeGenerators(100);
        const { ended_at } = (await engine.getWorkflow(id))!;
        return ended_at !== null;
      },
      'the workflow has ended',
      60_000,
    );
    await stopping.stop();
    const { task_count, root_state } = (await engine.getWorkflow(id))!;
    assert.deepEqual([task_count, root_state], [2502, 'partially_failed']);
    const results = await engine.readResults({ workflow_id: id }, null, 5000);
    const sum = results.find(({ kind }) => kind === 'Sum')!;
    assert.equal(sum.data, (2500 * 2499) / 2 - 7);
    assert.ok(most <= 3, `${most} ran at once`);
    await engine.close();
  });
});
