import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';

import {
  DeleteMessageBatchCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  type Message,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { startFauxqs, type FauxqsServer } from 'fauxqs';

import { createHandler, type ManagerHandler } from '../../src/app/lambda.ts';
import { MANAGER_QUEUE, workerQueueOf, type StartTaskMessage } from '@heddle/core/domain/message';
import type { JsonObject } from '@heddle/base/json';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import { openQueue, type OpenedQueue } from '@heddle/core/queue/open';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { benchOn, collection, completion, workerSeen, type Bench } from '@heddle/test-support/engine/manager/fixture';
import { newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { LARGE } from '@heddle/test-support/engine/runners/fixture';
import { setPolicy } from '@heddle/core/store/runners/policy';
import { createTestDatabase } from '@heddle/test-support/postgres';

const ACCOUNT = '000000000000';
const MAKE_DUE = { name: 'test.make_due', text: `update recon.jobs set next_run_at = now() - interval '1 second'` };
const ALL_DEAD = { offset: 0, limit: 100 };

let sqs: FauxqsServer;
let client: SQSClient;

before(async () => {
  process.env['AWS_ACCESS_KEY_ID'] = 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'test';
  sqs = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
  client = new SQSClient({ region: 'eu-west-1', endpoint: endpoint() });
});
after(async () => {
  client.destroy();
  await sqs.stop();
});

function endpoint(): string {
  return `http://127.0.0.1:${sqs.port}`;
}

interface World {
  handler: ManagerHandler;
  opened: OpenedQueue;
  engine: Bench['engine'];
  bench: Omit<Bench, 'url'>;
  prefix: string;
  /** Lines of metrics that it wrote. */
  metrics: string[];
  close(): Promise<void>;
}

/** A function that has not been called yet, on a separate database with its own queues, and access to both. */
async function newWorld(settings: Record<string, string> = {}): Promise<World> {
  const { url, database } = await createTestDatabase();
  const prefix = `heddle${newId().slice(-12)}`;
  const QUEUE_URL = `sqs://eu-west-1/${ACCOUNT}/${prefix}?create=1&endpoint=${encodeURIComponent(endpoint())}`;
  // The smallest pool: a run must not need a second connection while it holds one.
  const environment = { DATABASE_URL: url, QUEUE_URL, POOL_MAX_SIZE: '1', POOL_TIMEOUT_SECS: '5', RUST_LOG: 'error' };
  const metrics: string[] = [];
  const handler = createHandler({
    environment: { ...environment, ...settings },
    logSink: { write: (line) => process.stderr.write(line) },
    metricSink: { write: (line) => metrics.push(line) },
  });
  const opened = await openQueue({ url: QUEUE_URL, database, clock: systemClock, log: silentLogger });
  const bench = benchOn(database);
  return {
    handler,
    opened,
    bench,
    engine: bench.engine,
    prefix,
    metrics,
    async close() {
      await handler.close();
      await opened.queue.close();
      await bench.engine.close();
      await bench.queue.close();
    },
  };
}

/**
 * Does what Lambda does with a queue: receives a batch, calls the function, deletes messages not reported as failed.
 */
async function deliver(world: World): Promise<{ event: SQSEvent; failures: string[] }> {
  const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: `${world.prefix}-${MANAGER_QUEUE}` }));
  const received = await client.send(
    new ReceiveMessageCommand({
      QueueUrl,
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
      WaitTimeSeconds: 1,
      VisibilityTimeout: 60,
    }),
  );
  const messages = received.Messages ?? [];
  const event = JSON.parse(JSON.stringify(eventOf(world.prefix, messages))) as SQSEvent;
  const answer = (await world.handler(event)) as SQSBatchResponse;
  const failures = answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  const handled = messages.filter(({ MessageId }) => !failures.includes(MessageId!));
  if (handled.length > 0) {
    const Entries = handled.map(({ MessageId, ReceiptHandle }) => ({ Id: MessageId, ReceiptHandle }));
    await client.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  }
  return { event, failures };
}

/** An event as AWS sends it. */
function eventOf(prefix: string, messages: readonly Message[]): SQSEvent {
  return {
    Records: messages.map((message) => ({
      messageId: message.MessageId!,
      receiptHandle: message.ReceiptHandle!,
      body: message.Body!,
      attributes: {
        ApproximateReceiveCount: message.Attributes!.ApproximateReceiveCount!,
        SentTimestamp: message.Attributes!.SentTimestamp!,
        SenderId: 'AIDAIENQZJOLO23YVJ4VO',
        ApproximateFirstReceiveTimestamp: message.Attributes!.ApproximateFirstReceiveTimestamp!,
      },
      messageAttributes: Object.fromEntries(
        Object.entries(message.MessageAttributes ?? {}).map(([name, { StringValue, DataType }]) => [
          name,
          { stringValue: StringValue, stringListValues: [], binaryListValues: [], dataType: DataType! },
        ]),
      ),
      md5OfBody: message.MD5OfBody!,
      eventSource: 'aws:sqs',
      eventSourceARN: `arn:aws:sqs:eu-west-1:${ACCOUNT}:${prefix}-${MANAGER_QUEUE}`,
      awsRegion: 'eu-west-1',
    })),
  };
}

const SCHEDULED = {
  version: '0',
  id: '53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa',
  'detail-type': 'Scheduled Event',
  source: 'aws.events',
  account: ACCOUNT,
  time: '2026-01-01T00:00:00Z',
  region: 'eu-west-1',
  resources: [`arn:aws:events:eu-west-1:${ACCOUNT}:rule/heddle`],
  detail: {},
};

async function started({ opened: { queue } }: World, kind: string): Promise<StartTaskMessage[]> {
  const name = workerQueueOf(kind);
  const messages = await queue.receive(name, { max: 10, wait_ms: 2_000, visibility_ms: 60_000 });
  await queue.delete(
    name,
    messages.map(({ receipt }) => receipt),
  );
  return messages.map(({ body }) => JSON.parse(body) as StartTaskMessage);
}

async function send({ opened: { queue } }: World, ...bodies: (JsonObject | string)[]): Promise<void> {
  await queue.send(
    MANAGER_QUEUE,
    bodies.map((body) => ({ body: typeof body === 'string' ? body : JSON.stringify(body) })),
  );
}

describe('the manager as a function of Lambda', () => {
  it('completes a workflow, batch by batch', async () => {
    const world = await newWorld();
    const id = newId();
    await send(
      world,
      workerSeen('one', 'two'),
      collection({ id, mode: 'sequential', children: [{ kind: 'one' }, { kind: 'two' }] }),
    );
    assert.deepEqual((await deliver(world)).failures, []);
    for (const kind of ['one', 'two']) {
      const [start] = await started(world, kind);
      assert.equal(start?.root_container_id, id, kind);
      await send(world, completion(start));
      await deliver(world);
    }
    assert.equal((await world.engine.getWorkflow(id))?.root_state, 'succeeded');
    await world.close();
  });

  it('reports messages to redeliver, and moves away those that can never be handled', async () => {
    const world = await newWorld();
    const id = newId();
    await send(
      world,
      workerSeen('MakeGenerator', 'made'),
      collection({ id, mode: 'parallel', children: [{ kind: 'MakeGenerator' }, { mode: 'parallel', children: [] }] }),
    );
    await deliver(world);
    const [generator] = await started(world, 'MakeGenerator');
    const base = { type: 'CreateTask', generator_id: generator!.task.id };
    const orphan = newId();
    await send(world, '{"type":"Unheard"}', { ...base, task: { id: orphan, kind: 'made' }, parent_id: 'not yet' });
    const { event, failures } = await deliver(world);
    const waiting = event.Records.find(({ body }) => body.includes(orphan))!;
    assert.deepEqual(failures, [waiting.messageId]);
    const [letter, ...others] = await world.opened.queue.listDead(MANAGER_QUEUE, ALL_DEAD);
    assert.match(letter!.reason, /^type: must be/);
    assert.deepEqual(others, []);

    await send(world, { ...base, task: { id: 'not yet', mode: 'parallel', children: [] } });
    assert.deepEqual((await deliver(world)).failures, []);
    // Its visibility ended early, so that the test need not wait for it.
    assert.deepEqual((await deliver(world)).failures, []);
    assert.equal((await world.engine.getTask(orphan))?.state, 'claimed');
    await world.close();
  });

  it('counts a message once that Lambda delivers twice', async () => {
    const world = await newWorld();
    await send(world, collection({ mode: 'parallel', children: [{ kind: 'one' }] }));
    const { event } = await deliver(world);
    assert.deepEqual(await world.handler(event), { batchItemFailures: [] });
    assert.equal((await world.engine.listWorkflows({ offset: 0, limit: 9 })).workflows.length, 1);
    await world.close();
  });

  it('accepts messages of other senders, and workflows that are too large for SQS', async () => {
    const world = await newWorld();
    const id = newId();
    const children = Array.from({ length: 3_000 }, () => ({ kind: 'one', input: { text: 'x'.repeat(100) } }));
    await send(world, collection({ id, mode: 'parallel', children }));
    const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: `${world.prefix}-${MANAGER_QUEUE}` }));
    const MessageBody = JSON.stringify(collection({ mode: 'parallel', children: [{ kind: 'one' }] }));
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    assert.deepEqual((await deliver(world)).failures, []);
    assert.equal((await world.engine.getWorkflow(id))?.task_count, 3_000);
    assert.equal((await world.engine.listWorkflows({ offset: 0, limit: 9 })).workflows.length, 2);
    const bodies = { name: 'test.bodies', text: 'select count(*) as n from queue_body' };
    assert.deepEqual(await world.bench.database.query(bodies), [{ n: 0 }]);
    await world.close();
  });

  it('starts due jobs when a schedule calls it', async () => {
    const world = await newWorld();
    const jobs = createJobs({ ...world.bench.jobs, queue: world.opened.queue });
    await jobs.create({
      name: 'hourly',
      cron: '0 * * * *',
      time_zone: 'UTC',
      recurrence: null,
      overlap: 'skip',
      catch_up: 'once',
      paused: false,
      workflow: { root: { mode: 'parallel', children: [{ kind: 'one' }] } },
    });
    await world.bench.database.query(MAKE_DUE);
    assert.equal(await world.handler(SCHEDULED), undefined);
    assert.deepEqual((await deliver(world)).failures, []);
    const [run] = (await jobs.history('hourly', { offset: 0, limit: 1 }))!;
    assert.equal(run!.state, 'Running');
    assert.equal((await world.engine.getWorkflow(run!.workflow_id!))?.task_count, 1);
    await world.close();
  });

  it('requests runners for tasks, which servers assign', async () => {
    const world = await newWorld();
    const [task] = (await submitTasks(world.engine, [newTask({ requirements: LARGE })])).tasks;
    assert.equal(await world.handler(SCHEDULED), undefined);
    const explanation = await world.engine.explain(task!.id);
    assert.match(explanation!.summary, /^It waits for a runner of the class large \(on-demand\): it is next/);
    await world.close();
  });

  it('keeps tasks for as long as its settings say', async () => {
    const world = await newWorld({ WORKER_LEASE_SECS: '300' });
    const collectionId = newId();
    await send(
      world,
      workerSeen('one'),
      collection({ id: collectionId, mode: 'sequential', children: [{ kind: 'one' }] }),
    );
    await deliver(world);
    const [start] = await started(world, 'one');
    await send(world, { type: 'HeartbeatTask', task_id: start!.task.id, attempt: start!.task.attempt });
    await deliver(world);
    const lease = {
      name: 'test.lease',
      text: `select l.lease_ms from lease l join task t on t.lease_id = l.id where t.id = $1`,
    };
    assert.deepEqual(await world.bench.database.query(lease, [start!.task.id]), [{ lease_ms: 300_000 }]);
    await world.close();
  });

  it('uses the current resource classes of servers', async () => {
    const world = await newWorld();
    await world.handler(SCHEDULED);
    const child = { kind: 'one', requirements: { resource_class: 'own', usage_class: 'spot' } };
    const refused = collection({ mode: 'parallel', children: [child] });
    await send(world, refused);
    await deliver(world);
    const [letter] = await world.opened.queue.listDead(MANAGER_QUEUE, ALL_DEAD);
    assert.match(letter!.reason, /class/);
    await setPolicy(world.bench.database, [{ name: 'own', cpu: 1, memory_mib: 512, times: {} }], true);
    await send(world, collection({ mode: 'parallel', children: [child] }));
    assert.deepEqual((await deliver(world)).failures, []);
    assert.equal((await world.engine.listWorkflows({ offset: 0, limit: 9 })).workflows.length, 1);
    await world.close();
  });

  it('writes counter increments after each invocation, and delivers its spans', async (t) => {
    const bodies: string[] = [];
    const collector = createServer((request, response) => {
      void text(request).then((body) => {
        bodies.push(body);
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    t.after(() => collector.close());
    const { port } = collector.address() as AddressInfo;
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${port}`;
    const world = await newWorld({ TRACING_ENABLED: '1', OTEL_EXPORTER_OTLP_ENDPOINT });
    await send(world, collection({ mode: 'parallel', children: [{ kind: 'one' }] }));
    await deliver(world);
    const lines = world.metrics.map((line) => JSON.parse(line) as Record<string, unknown>);
    const applied = lines.find((line) => line['type'] === 'CreateTaskCollection' && line['outcome'] === 'applied');
    assert.equal(applied!['heddle_manager_messages_total'], 1);
    assert.deepEqual((applied!['_aws'] as { CloudWatchMetrics: unknown[] }).CloudWatchMetrics, [
      {
        Namespace: 'Heddle',
        Dimensions: [['type', 'outcome']],
        Metrics: [{ Name: 'heddle_manager_messages_total', Unit: 'Count' }],
      },
    ]);
    world.metrics.length = 0;
    await world.handler(SCHEDULED);
    assert.ok(!world.metrics.join('').includes('CreateTaskCollection'), 'what was written is not written again');
    assert.ok(bodies.length >= 2 && bodies.every((body) => body.includes('manager batch')), 'one export an invocation');
    await world.close();
  });

  it('fails as a whole while its database is unavailable, and reopens it at the next call', async () => {
    const environment = {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      POOL_ACQUIRE_RETRIES: '0',
      RUST_LOG: 'error',
    };
    const handler = createHandler({ environment });
    for (const _call of [1, 2]) await assert.rejects(handler(SCHEDULED), /cannot be reached/);
    await assert.rejects(createHandler({ environment: {} })(SCHEDULED), /DATABASE_URL/);
  });
});
