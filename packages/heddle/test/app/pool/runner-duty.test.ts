import assert from 'node:assert/strict';
import { it } from 'node:test';

import { RunnerDuty, type RunnerDutyOptions } from '../../../src/app/pool/runner-duty.ts';
import { defineKind } from '@heddle/kit';
import type { Orders } from '@heddle/core/pool/port/store';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { seededRandom } from '@heddle/base/random';
import { createTracer } from '@heddle/base/trace';
import { FakeTasks } from '../../support/dispatch/fake-engine.ts';
import { eventually } from '@heddle/test-support/eventually';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

it('a task on a runner has the trace of its attempt', async () => {
  const tasks = new FakeTasks();
  const seen: (string | null)[] = [];
  const kind = defineKind({
    name: 'traced',
    run: (_, { traceparent }) => {
      seen.push(traceparent);
      return null;
    },
  });
  tasks.add(1, 'traced', { traceparent: TRACEPARENT });
  const duty = new RunnerDuty({
    engine: tasks as unknown as RunnerDutyOptions['engine'],
    kinds: [kind],
    holder: 'runner',
    leaseMs: 60_000,
    intervalMs: 10_000,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    tracing: await createTracer({ enabled: false, endpoint: null, serviceName: 'heddle', samplingRatio: 1 }),
    onDone: () => undefined,
    onFree: () => undefined,
    onStuck: () => undefined,
  });
  duty.begin({ number: 1, epoch: 1, task_id: tasks.ready[0]!.id } as Orders);
  await eventually(() => tasks.reports.length > 0, 'the task has ended');
  await duty.stop(0);
  assert.deepEqual(seen, [TRACEPARENT]);
  assert.equal(tasks.claims[0]!.traced, true);
});
