/** The spans of workflows and attempts, as a collector gets them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import { createTracer, type Tracing } from '@heddle/base/trace';
import { attributesOf, SpanCollector, type ExportedSpan } from '@heddle/test-support/span-collector';
import { newBench, newTask, type Bench } from '@heddle/test-support/engine/fixture';
import { LEASE_MS, leased } from '../support/engine/lease-fixture.ts';

const CALLER_SPAN = 'b7ad6b7169203331';
const RETRY = { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };

describe('spans of the engine', { concurrency: false }, () => {
  let collector: SpanCollector;
  let tracing: Tracing;
  let bench: Bench;
  const clock = new VirtualClock();

  before(async () => {
    collector = await SpanCollector.open();
    tracing = await createTracer({
      enabled: true,
      endpoint: collector.endpoint,
      serviceName: 'heddle',
      samplingRatio: 1,
    });
    bench = await newBench({ tracing, clock });
  });

  after(async () => {
    await bench.engine.close();
    await tracing.shutdown();
    await collector[Symbol.asyncDispose]();
  });

  /** Submits tasks in a trace of their own. */
  async function submitTraced(tasks: readonly Parameters<typeof newTask>[0][], flags = '01'): Promise<string> {
    const traceId = newId().replaceAll('-', '');
    const traceparent = `00-${traceId}-${CALLER_SPAN}-${flags}`;
    const batch = { workflow_id: newId(), name: 'a batch', tasks: tasks.map((each) => newTask(each)), traceparent };
    await bench.engine.submit([{ ...batch, idempotency: null }]);
    return traceId;
  }

  async function spansOf(traceId: string): Promise<ExportedSpan[]> {
    await tracing.flush();
    return collector.ofTrace(traceId);
  }

  const outcomesOf = (spans: readonly ExportedSpan[]): unknown[] =>
    spans.filter(({ name }) => name.startsWith('task ')).map((span) => attributesOf(span)['heddle.outcome']);

  test('an attempt is a child of its workflow, which is a child of the submission', async () => {
    const kind = newId();
    const traceId = await submitTraced([{ kind, name: 'one' }]);
    await clock.advance(2_000);
    const [task] = await leased(bench, 1, kind);
    await clock.advance(3_000);
    const { id: task_id, attempt } = task!;
    await bench.engine.report([{ task_id, attempt, outcome: 'succeeded' }]);
    await bench.engine.report([{ task_id, attempt, outcome: 'succeeded' }]);
    const spans = await spansOf(traceId);
    assert.deepEqual(spans.map(({ name }) => name).sort(), ['batch', `task ${kind}`]);
    const [run, batch] = [spans.find(({ name }) => name !== 'batch')!, spans.find(({ name }) => name === 'batch')!];
    assert.equal(batch.parentSpanId, CALLER_SPAN);
    assert.equal(run.parentSpanId, batch.spanId);
    assert.equal(task!.traceparent, `00-${traceId}-${run.spanId}-01`);
    assert.equal(attributesOf(run)['heddle.wait_ms'], 2_000);
    assert.equal(Number(BigInt(run.endTimeUnixNano) - BigInt(run.startTimeUnixNano)), 5_000e6);
    assert.deepEqual(
      run.events.map(({ name }) => name),
      ['started'],
    );
    assert.equal(batch.endTimeUnixNano, run.endTimeUnixNano);
  });

  test('each attempt has a span, whatever ended it', async () => {
    const kind = newId();
    const traceId = await submitTraced([{ kind, retry: RETRY, timeout_secs: 600 }]);
    const claim = async (): Promise<{ task_id: string; attempt: number }> => {
      const [task] = await leased(bench, 1, kind);
      return { task_id: task!.id, attempt: task!.attempt };
    };
    await bench.engine.release([await claim()]);
    await claim();
    await clock.advance(LEASE_MS);
    await bench.engine.sweep();
    await bench.engine.report([{ ...(await claim()), outcome: 'failed', reason: 'it broke' }]);
    const spans = await spansOf(traceId);
    assert.deepEqual(outcomesOf(spans), ['handed_back', 'lost', 'failed']);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, 4);
    const failed = spans.find((span) => attributesOf(span)['heddle.outcome'] === 'failed')!;
    assert.deepEqual(failed.status, { code: 2, message: 'it broke' });
    assert.equal(attributesOf(failed)['heddle.attempt'], 3);
  });

  test('a retry, a timeout and a cancel end attempts too, and the last of them the workflow', async () => {
    const kind = newId();
    const traceId = await submitTraced([{ kind, retry: RETRY }, { kind, timeout_secs: 10 }, { kind }]);
    const [retried, late, canceled] = await leased(bench, 3, kind);
    await bench.engine.report([{ task_id: retried!.id, attempt: 1, outcome: 'failed', reason: 'again' }]);
    await clock.advance(10_000);
    await bench.engine.sweep();
    await bench.engine.cancel([canceled!.id, canceled!.id]);
    assert.equal((await bench.engine.getTask(late!.id))?.state, 'timed_out');
    assert.ok(!(await spansOf(traceId)).some(({ name }) => name === 'batch'));
    const [again] = await leased(bench, 1, kind);
    await bench.engine.cancelWorkflow(again!.workflow_id);
    const spans = await spansOf(traceId);
    assert.deepEqual(outcomesOf(spans), ['failed', 'timed_out', 'canceled', 'canceled']);
    assert.equal(attributesOf(spans[0]!)['heddle.retrying'], true);
    assert.equal(spans.filter(({ name }) => name === 'batch').length, 1);
  });

  test('a start webhook that is abandoned ends its attempt, retried or not', async () => {
    const kind = newId();
    const params = { url: 'http://127.0.0.1:9/', verb: 'Post' as const };
    const action = { trigger: 'start' as const, kind: 'Webhook' as const, params };
    const traceId = await submitTraced([{ kind, actions: [action], retry: RETRY }]);
    for (let attempt = 1; attempt <= RETRY.max_attempts; attempt += 1) {
      await bench.engine.claimForDelivery('test', 1);
      const request = { holder: 'test', limit: 1, limit_per_origin: 1, saturated_origins: [], lease_ms: 1_000 };
      const [delivery] = await bench.engine.claimDeliveries(request);
      const { id, tries } = delivery!;
      await bench.engine.settleDeliveries([{ id, tries, outcome: 'dead', status: 500, error: 'it answered 500' }]);
    }
    const attempts = (await spansOf(traceId)).filter(({ name }) => name !== 'batch');
    assert.deepEqual(outcomesOf(attempts), ['failed', 'failed']);
    assert.deepEqual(
      attempts.map((span) => attributesOf(span)['heddle.retrying']),
      [true, undefined],
    );
  });

  test('what a generator makes belongs to its attempt', async () => {
    const [root, kind, made] = [newId(), newId(), newId()];
    const generator = { ...newTask({ kind }), id: newId() };
    const traceId = newId().replaceAll('-', '');
    const node = { type: 'task' as const, task: generator, policy: 'FailOnFailure' as const, disabled: false };
    await bench.engine.submitWorkflows([
      {
        name: null,
        root: {
          type: 'container',
          id: root,
          local_id: null,
          mode: 'parallel',
          policy: 'FailOnFailure',
          children: [{ ...node, generates: true }],
        },
        traceparent: `00-${traceId}-${CALLER_SPAN}-01`,
        idempotency: null,
        job_run_id: null,
      },
    ]);
    const [claimed] = await leased(bench, 1, kind);
    const child = { ...node, task: newTask({ kind: made }), generates: false };
    await bench.engine.createNodes([{ generator_id: generator.id, attempt: 1, node: child, parent: null }]);
    await bench.engine.report([
      { task_id: claimed!.id, attempt: 1, outcome: 'succeeded', result: null, expected_created: 1 },
    ]);
    const [task] = await leased(bench, 1, made);
    await bench.engine.report([{ task_id: task!.id, attempt: 1, outcome: 'succeeded' }]);
    await bench.engine.completeGenerators(10);
    const spans = await spansOf(traceId);
    const named = (name: string): ExportedSpan => spans.find((span) => span.name === name)!;
    assert.equal(named(`task ${made}`).parentSpanId, named(`task ${kind}`).spanId);
    assert.equal(named(`task ${kind}`).parentSpanId, named('workflow').spanId);
    assert.equal(attributesOf(named('workflow'))['heddle.outcome'], 'succeeded');
    assert.equal(spans.length, 3);
  });

  test('a workflow without a trace begins one, and a caller that does not record is followed', async () => {
    const [root, kind] = [newId(), newId()];
    const task = { type: 'task' as const, task: newTask({ kind }), policy: 'FailOnFailure' as const, disabled: false };
    const container = { type: 'container' as const, id: root, local_id: null, mode: 'parallel' as const };
    await bench.engine.submitWorkflows([
      {
        name: null,
        root: { ...container, policy: 'FailOnFailure', children: [{ ...task, generates: false }] },
        traceparent: null,
        idempotency: null,
        job_run_id: null,
      },
    ]);
    const [own] = await leased(bench, 1, kind);
    await bench.engine.report([{ task_id: own!.id, attempt: 1, outcome: 'succeeded' }]);
    const spans = await spansOf(own!.traceparent!.split('-')[1]!);
    const workflow = spans.find(({ name }) => name === 'workflow')!;
    assert.ok(workflow.parentSpanId === undefined || workflow.parentSpanId === '');
    assert.equal(spans.find(({ name }) => name === `task ${kind}`)!.parentSpanId, workflow.spanId);

    const unrecorded = await submitTraced([{ kind }], '00');
    const [task2] = await leased(bench, 1, kind);
    assert.match(task2!.traceparent!, new RegExp(`^00-${unrecorded}-[0-9a-f]{16}-00$`));
    await bench.engine.report([{ task_id: task2!.id, attempt: 1, outcome: 'succeeded' }]);
    assert.deepEqual(await spansOf(unrecorded), []);
  });
});
