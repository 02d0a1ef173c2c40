import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { LocalWorker } from '../../../src/dispatch/local-worker.ts';
import { ExecutorRegistry } from '../../../src/dispatch/executor-registry.ts';
import { kindExecutor } from '../../../src/dispatch/kind/in-process.ts';
import { defineKind, type KindRunner, task } from '@heddle/kit';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { newTask } from '@heddle/test-support/engine/fixture';
import { grant, newRunnerBench, pass, type RunnerBench } from '@heddle/test-support/engine/runners/fixture';

let bench: RunnerBench;
before(async () => {
  bench = await newRunnerBench();
});
after(() => bench.engine.close());

test('a generator creates tasks that need runners; their handlers receive their runners', async () => {
  const { engine } = bench;
  const seen: (readonly KindRunner[])[] = [];
  const crunch = defineKind({
    name: 'Crunch',
    run: (_input, context) => {
      seen.push(context.task.runners);
      return null;
    },
  });
  const maker = defineKind({
    name: 'CrunchGenerator',
    *run(_input, context) {
      seen.push(context.task.runners);
      yield task(crunch, {}, { requirements: { resource_class: 'large', usage_class: 'spot', count: 2 } });
    },
  });
  const workerOf = (lanes?: string[]): LocalWorker => {
    const registry = new ExecutorRegistry();
    for (const kind of [crunch, maker]) registry.register(kind.name, kindExecutor(kind, engine));
    return new LocalWorker({
      engine,
      registry,
      ...(lanes === undefined ? {} : { lanes }),
      holder: 'test',
      intervalMs: 50,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    });
  };
  const here = workerOf();
  here.start();
  const generator = newTask({ kind: 'CrunchGenerator' });
  const [submitted] = await engine.submitWorkflows([
    {
      name: null,
      traceparent: null,
      idempotency: null,
      job_run_id: null,
      root: {
        type: 'container',
        id: newId(),
        local_id: null,
        mode: 'parallel',
        policy: 'FailOnFailure',
        children: [{ type: 'task', policy: 'FailOnFailure', disabled: false, generates: true, task: generator }],
      },
    },
  ]);
  const { workflow_id } = submitted!;
  const made = await eventually(async () => {
    await pass(bench);
    return bench.asked[0];
  }, 'the task that was made asks for its runners');
  assert.deepEqual([made.resource_class, made.usage_class, made.count, made.tenant], ['large', 'spot', 2, 'default']);
  const runners = await grant(bench, made.task_id);
  const there = workerOf([`runner:${runners[0]!.number}`]);
  there.start();
  await eventually(async () => {
    await pass(bench);
    return (await engine.getWorkflow(workflow_id))?.ended_at !== null;
  }, 'the workflow ends');
  await Promise.all([here.stop(1_000), there.stop(1_000)]);
  assert.deepEqual(
    seen.map((list) => list.map(({ id, address }) => [id, address])),
    [[], runners.map(({ id }) => [id, '10.0.0.1'])],
  );
});
