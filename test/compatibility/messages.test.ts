/** The messages of the manager and of workers, sent and received by a worker that is not ours, at SQS. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';

import {
  DeleteMessageCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { startFauxqs, type FauxqsServer } from 'fauxqs';

import { eventually } from '@heddle/test-support/eventually';
import { type Door, example, type Json, openDoor } from '../support/compatibility/door.ts';

const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const KINDS = ['ShelfGenerator', 'Shelf', 'ShelfAggregator'];

let sqs: FauxqsServer;
let client: SQSClient;
let door: Door;

before(async () => {
  sqs = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
  const endpoint = `http://127.0.0.1:${sqs.port}`;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  client = new SQSClient({ region: 'eu-west-1', endpoint, credentials });
  const address = `sqs://eu-west-1/000000000000/stock?create=1&endpoint=${encodeURIComponent(endpoint)}`;
  door = await openDoor({ ...CREDENTIALS, QUEUE_URL: address });
});
after(async () => {
  client.destroy();
  await sqs.stop();
});

/** Undefined while the queue does not exist. */
function urlOf(queue: string): Promise<string | undefined> {
  return client.send(new GetQueueUrlCommand({ QueueName: `stock-${queue}` })).then(
    ({ QueueUrl }) => QueueUrl,
    () => undefined,
  );
}

async function send(message: Json): Promise<void> {
  const QueueUrl = await eventually(() => urlOf('manager'), 'the queue of the manager');
  await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(message) }));
}

interface Started {
  type: string;
  root_container_id: string;
  task: Json & { id: string; kind: string };
}

/** The next task for workers of a kind, which is taken from its queue. */
async function started(kind: string): Promise<Started> {
  return eventually(async () => {
    // A worker tells every ten seconds or so that it is there.
    await send({ type: 'WorkerSeen', worker: 'other', kinds: KINDS, concurrency: 8 });
    const QueueUrl = await urlOf(`worker-${kind}`);
    if (QueueUrl === undefined) return undefined;
    const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1 }));
    const [message] = Messages;
    if (message === undefined) return undefined;
    await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
    return JSON.parse(message.Body!) as Started;
  }, `a StartTask of ${kind}`);
}

function complete({ task, root_container_id }: Started, state: string, more: Json = {}): Promise<void> {
  return send({ type: 'CompleteTask', task_id: task.id, state, root_container_id, data: null, ...more });
}

interface Node {
  id: string;
  name: string | null;
  local_id: string | null;
  kind?: string;
  state: string;
  children?: Node[];
}

async function tree(id: string): Promise<Node> {
  return ((await door.ask('GET', `/v1/workflows/${id}`)).json as { root: Node }).root;
}

async function untilState(id: string, state: string): Promise<Json> {
  return eventually(async () => {
    const { json } = await door.ask('GET', `/v1/workflows/${id}?depth=0`);
    return (json as Json)['state'] === state && (json as Json);
  }, `the workflow is ${state}`);
}

test('a collection fans out and in again: generator, workers, aggregator', async () => {
  await send(example('collection.json') as Json);
  const generator = await started('ShelfGenerator');
  assert.equal(generator.type, 'StartTask');
  assert.match(generator.task.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/, 'ids are UUIDs of version 7');
  assert.deepEqual(generator.task['input'], { aisle: 4 });
  const { root_container_id } = generator;

  // The generator says that it is done before all that it announced has come.
  const shelves = [1, 2].map((shelf) => ({ id: randomUUID(), kind: 'Shelf', input: { shelf } }));
  const create = (task: Json): Promise<void> =>
    send({ type: 'CreateTask', task, generator_id: generator.task.id, parent_id: 'shelves' });
  await create(shelves[0]!);
  await complete(generator, 'PendingTaskCreation', { expected_task_count: 2 });
  await eventually(async () => {
    const { children } = await tree(root_container_id);
    return children!.some(({ state }) => state === 'PendingTaskCreation');
  }, 'the generator waits for what it announced');
  await create(shelves[1]!);

  const workers = [await started('Shelf'), await started('Shelf')];
  assert.deepEqual(workers.map(({ task }) => task.id).sort(), shelves.map(({ id }) => id).sort());
  await complete(workers[0]!, 'Succeeded', { data: { counted: 31 } });
  await complete(workers[1]!, 'Failed', { data: { counted: 2 } });

  const aggregator = await started('ShelfAggregator');
  assert.equal(aggregator.root_container_id, root_container_id);
  await complete(aggregator, 'Succeeded', { data: { total: 33 } });
  await untilState(root_container_id, 'PartiallyFailed');
  const states: unknown = Object.fromEntries(
    (await tree(root_container_id)).children!.map((node) => [node.local_id, node.state]),
  );
  assert.deepEqual(states, { divide: 'Succeeded', shelves: 'PartiallyFailed', sum: 'Succeeded', later: 'Disabled' });
});

test('each way to end a task, and what its policy makes of it', async () => {
  for (const [state, policy, root] of [
    ['Succeeded', 'FailOnFailure', 'Succeeded'],
    ['Failed', 'FailOnFailure', 'Failed'],
    ['Timeout', 'FailOnFailure', 'Failed'],
    ['PartiallyFailed', 'ContinueOnPartialFailure', 'PartiallyFailed'],
    ['Failed', 'ContinueOnFailure', 'PartiallyFailed'],
  ] as const) {
    const task = { kind: 'Shelf', input: { state, policy }, policy };
    const collection = { name: `${state} ${policy}`, root: { mode: 'sequential', children: [task, task] } };
    await send({ type: 'CreateTaskCollection', collection });
    const first = await started('Shelf');
    await complete(first, state);
    if (root !== 'Failed') await complete(await started('Shelf'), 'Succeeded');
    await untilState(first.root_container_id, root);
  }
});

test('a message that cannot be read becomes a dead letter, and those beside it have their effect', async () => {
  await Promise.all([
    send({ type: 'CompleteTasks', task_id: randomUUID() }),
    send({
      type: 'CreateTaskCollection',
      collection: { root: { mode: 'parallel', children: [{ kind: 'Shelf', input: {} }] } },
    }),
  ]);
  await complete(await started('Shelf'), 'Succeeded');
  await eventually(async () => {
    const { json } = await door.ask('GET', '/v1/dead-letters?queue=manager&page=0&page_size=50');
    return JSON.stringify(json).includes('CompleteTasks');
  }, 'the dead letter is listed');
});
