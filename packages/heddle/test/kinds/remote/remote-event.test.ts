import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { ConfiguredExecutors } from '../../../src/app/remote/executors.ts';
import { remoteKinds } from '../../../src/app/remote-kinds.ts';
import type { StopSequence } from '../../../src/app/stop-sequence.ts';
import type { JsonObject } from '@heddle/base/json';
import { RemoteExecutor } from '@heddle/executor/client/remote-executor';
import { RemoteFailure, type RemoteCode } from '@heddle/executor/protocol/codes';
import { systemClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import { newBench, newTask, type Bench } from '@heddle/test-support/engine/fixture';
import { CREDENTIALS, directTransport, MemoryExecutor } from '@heddle/test-support/executor/client/memory-executor';
import { eventually } from '@heddle/test-support/eventually';
import { ended, startKinds, submit } from '@heddle/test-support/kinds/recon/run-workflow';
import { createTracer } from '@heddle/base/trace';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let bench: Bench;
let executor: MemoryExecutor;
let executors: ConfiguredExecutors;
let stopping: StopSequence;
const traceparents: (string | null)[] = [];

async function run(event: string, args: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  switch (event) {
    case 'Wait':
      // fixed wait: how long the event itself takes
      await systemClock.sleep(60_000, signal);
      return {};
    case 'Slowly':
      // fixed wait: how long the event itself takes
      await systemClock.sleep(2_500, signal);
      return { done: true };
    case 'Fail':
      throw new RemoteFailure(args['code'] as RemoteCode, args['message'] as string, { details: ['args.x: is wrong'] });
    default:
      return { event, args };
  }
}

before(async () => {
  bench = await newBench();
  executor = new MemoryExecutor({ clock: systemClock, run });
  const remote = new RemoteExecutor({
    endpoints: ['tcp+plain://127.0.0.1:1'],
    credentials: CREDENTIALS,
    healthIntervalMs: 0,
    openTransport: (endpoint) => {
      const direct = directTransport(executor, endpoint);
      return {
        ...direct,
        call: (request, options) => {
          if (request.method === 'submit') traceparents.push(options.traceparent);
          return direct.call(request, options);
        },
      };
    },
  });
  executors = new ConfiguredExecutors(new Map([['default', remote]]));
  stopping = start();
});

const tracing = await createTracer({ enabled: false, endpoint: null, serviceName: 'heddle', samplingRatio: 1 });

function start(): StopSequence {
  const kinds = remoteKinds({ executors, tracing });
  return startKinds(bench.engine, kinds);
}

after(async () => {
  await stopping.stop();
  await executors.close();
});

async function submitEvent(input: JsonObject, options: object = {}): Promise<{ workflow: string; task: string }> {
  const task = newId();
  const node = { id: task, kind: 'RemoteEvent', input, ...options };
  return { workflow: await submit(bench.engine, { mode: 'sequential', children: [node] }), task };
}

const taskOf = async (id: string) => (await bench.engine.getTask(id))!;
const isRunning = (key: string): Promise<true> => eventually(() => executor.runs.has(key) || undefined, `${key} runs`);

describe('a task of the kind RemoteEvent', () => {
  it('runs once at the executor, whose result becomes the result of the task', async () => {
    const { workflow, task } = await submitEvent({ event_name: 'Echo', args: { n: 1 } });
    const outcome = await ended(bench.engine, workflow);
    assert.equal(outcome.state, 'succeeded');
    assert.deepEqual(outcome.of('RemoteEvent'), { event: 'Echo', args: { n: 1 } });
    assert.equal(executor.runs.get(`${task}:1`), 1);
  });

  it('propagates the trace of its workflow', async () => {
    const tasks = [newTask({ kind: 'RemoteEvent', metadata: { event_name: 'Echo' } })];
    const workflow = { workflow_id: newId(), name: null, tasks, traceparent: TRACEPARENT, idempotency: null };
    const calls = traceparents.length;
    await bench.engine.submit([workflow]);
    await eventually(() => traceparents.length > calls, 'the event is called');
    assert.equal(traceparents[calls], TRACEPARENT);
  });

  it('counts the progress of its event in hundredths', async () => {
    const { workflow, task } = await submitEvent({ event_name: 'Slowly' });
    await eventually(async () => (await taskOf(task)).success_count === 50 || undefined, 'half of it is counted');
    await ended(bench.engine, workflow);
    assert.equal((await taskOf(task)).success_count, 100);
  });

  it('is canceled at the executor when it is canceled here', async () => {
    const { task } = await submitEvent({ event_name: 'Wait' });
    await isRunning(`${task}:1`);
    await bench.engine.cancel([task]);
    await eventually(() => executor.canceled.has(`${task}:1`) || undefined, 'the executor received the cancel');
  });

  it('is canceled at the executor when it times out', async () => {
    const { workflow, task } = await submitEvent({ event_name: 'Wait' }, { timeout_secs: 1 });
    await ended(bench.engine, workflow);
    assert.equal((await taskOf(task)).state, 'timed_out');
    await eventually(() => executor.canceled.has(`${task}:1`) || undefined, 'the executor received the cancel');
  });

  it("fails with the executor's code and message, and is retried", async () => {
    const input = { event_name: 'Fail', args: { code: 'TASK_OOM', message: 'too much' } };
    const { workflow, task } = await submitEvent(input, { retry: { max_attempts: 2, backoff_secs: 0 } });
    await ended(bench.engine, workflow);
    const { attempt, reason } = await attemptOf(task);
    assert.deepEqual([attempt, reason], [2, 'TASK_OOM: too much: args.x: is wrong']);
    assert.deepEqual([executor.runs.get(`${task}:1`), executor.runs.get(`${task}:2`)], [1, 1]);
  });

  for (const code of ['INVALID_ARGS', 'EVENT_NOT_WHITELISTED', 'EVENT_NOT_REGISTERED', 'FORBIDDEN', 'QUARANTINED']) {
    it(`is not retried after ${code}`, async () => {
      const input = { event_name: 'Fail', args: { code, message: 'no' } };
      const { workflow, task } = await submitEvent(input, { retry: { max_attempts: 3, backoff_secs: 0 } });
      await ended(bench.engine, workflow);
      const { attempt, reason } = await attemptOf(task);
      assert.equal(attempt, 1);
      assert.match(reason, new RegExp(`^${code}: no`));
    });
  }

  it('is rejected if its input is invalid or names an unknown executor', async () => {
    for (const [input, reason] of [
      [{ event_name: 'ä' }, /input\.event_name: must be 1 to 200 of/],
      [{}, /input\.event_name: is required/],
      [{ event_name: 'Echo', args: [] }, /input\.args: must be an object/],
      [{ event_name: 'Echo', x: 1 }, /input\.x: is not a known member/],
      [{ event_name: 'Echo', executor: 'gpu' }, /no executor named gpu; available: default/],
    ] as const) {
      const { workflow, task } = await submitEvent(input as unknown as JsonObject);
      await ended(bench.engine, workflow);
      assert.match((await attemptOf(task)).reason, reason);
    }
  });
});

describe('a task whose worker was lost', () => {
  /** Abandons the first attempt of a task without a report. */
  async function loseFirstAttempt(task: string): Promise<string> {
    await stopping.stop();
    const retry = { max_attempts: 2, backoff_secs: 0 };
    const node = { id: task, kind: 'RemoteEvent', input: { event_name: 'Echo' }, retry };
    const workflow = await submit(bench.engine, { mode: 'sequential', children: [node] });
    const claimed = await eventually(async () => {
      const tasks = await bench.engine.claim({ lanes: ['kind:RemoteEvent'], limit: 10, holder: 'lost' });
      return tasks.find(({ id }) => id === task);
    }, 'the task is claimed');
    await bench.engine.report([{ task_id: task, attempt: claimed.attempt, outcome: 'failed', reason: 'lost' }]);
    stopping = start();
    return workflow;
  }

  it('cancels what the previous attempt left running, then runs again', async () => {
    const task = newId();
    const lost = await executors.find(null)!.submitAsync('Wait', {}, { idempotencyKey: `${task}:1` });
    const outcome = await ended(bench.engine, await loseFirstAttempt(task));
    assert.deepEqual(outcome.of('RemoteEvent'), { event: 'Echo', args: {} });
    assert.ok(executor.canceled.has(`${task}:1`));
    assert.deepEqual([executor.runs.get(`${task}:1`), executor.runs.get(`${task}:2`)], [1, 1]);
    await assert.rejects(lost.result(), /canceled/);
  });

  it('returns the result that the previous attempt left at the executor', async () => {
    const task = newId();
    const options = { idempotencyKey: `${task}:1`, acknowledge: 'never' } as const;
    await executors.find(null)!.submit('Echo', { from: 'the first' }, options);
    const outcome = await ended(bench.engine, await loseFirstAttempt(task));
    assert.deepEqual(outcome.of('RemoteEvent'), { event: 'Echo', args: { from: 'the first' } });
    assert.equal(executor.runs.has(`${task}:2`), false);
  });
});

async function attemptOf(task: string): Promise<{ attempt: number; reason: string }> {
  const { attempt, failure_reason } = await taskOf(task);
  return { attempt, reason: failure_reason ?? '' };
}
