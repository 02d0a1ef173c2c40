/** Messages of idle runners in a queue at SQS that a pool which is not ours shares with us: picked, put back as they came, discarded. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import {
  DeleteMessageCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { startFauxqs, type FauxqsServer } from 'fauxqs';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import { byName, newCounts } from '@heddle/core/internal/pool/backends/queue-backend';
import { classQueueOf } from '@heddle/core/pool/backends/sqs-classic';
import { PickupManager } from '@heddle/core/internal/pool/pickup/pickup-manager';
import { CLASSIC_POLICY } from '@heddle/core/internal/pool/pickup/policy';
import { PoolMessages } from '@heddle/core/internal/pool/pickup/pool-messages';
import type { RunnerRequest } from '@heddle/core/pool/port/store';
import { checkQueueUrl, openSqsQueue } from '@heddle/core/queue/open';
import type { MessageQueue } from '@heddle/core/queue/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { requestOf } from '@heddle/test-support/pool/backends/claim-book';
import { example, type Json } from '../support/compatibility/door.ts';

process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';

const [ENVELOPED, BARE] = example('pickup.json') as [Json & { payload: Json }, Json];
const QUEUE = classQueueOf({ resource_class: 'large' });

let sqs: FauxqsServer;
let client: SQSClient;
let queue: MessageQueue;
let url: string;

before(async () => {
  sqs = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
  const endpoint = `http://127.0.0.1:${sqs.port}`;
  client = new SQSClient({ region: 'eu-west-1', endpoint });
  const address = checkQueueUrl(
    `sqs://eu-west-1/000000000000/shared?create=1&endpoint=${encodeURIComponent(endpoint)}`,
  )!;
  const ports = { database: null, clock: systemClock, log: silentLogger, random: systemRandom, maxReceives: 5 };
  queue = await openSqsQueue(address, ports);
  // The queue comes to be with the first look at it.
  assert.equal(await managerFor({}).manager.next(), null);
  const { QueueUrls = [] } = await client.send(new ListQueuesCommand({ QueueNamePrefix: 'shared-pool' }));
  url = QueueUrls.find((each) => each.endsWith('large'))!;
});
after(async () => {
  await queue.close();
  client.destroy();
  await sqs.stop();
});

/** Looks for a runner for one request; who is put back is there again at once. */
function managerFor(request: Partial<RunnerRequest>) {
  const policy = { ...CLASSIC_POLICY, requeue_delay_ms: 0 };
  const counts = newCounts();
  const messages = new PoolMessages({
    queue,
    queueOf: classQueueOf,
    policy,
    counts,
    log: silentLogger,
    driver: 'sqs-classic',
  });
  const requirements = requestOf(request);
  const classes = byName(DEFAULT_RESOURCE_CLASSES);
  const options = { messages, queue: QUEUE, requirements, classes, policy, counts, clock: systemClock };
  return { manager: new PickupManager(options), counts, messages };
}

/** What the other pool does: it sends a body as it is, and takes the one that is there. */
async function put(body: string): Promise<void> {
  await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body }));
}

async function take(): Promise<Json | null> {
  const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl: url }));
  const [message] = Messages;
  if (message === undefined) return null;
  await client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message.ReceiptHandle }));
  return JSON.parse(message.Body!) as Json;
}

test('a message that fits is passed on: `instance_id` and `payload`, or the payload alone', async () => {
  for (const [message, payload, usage_class] of [
    [ENVELOPED, ENVELOPED.payload, 'spot'],
    [BARE, BARE, 'on-demand'],
  ] as const) {
    await put(JSON.stringify(message));
    const { manager, messages } = managerFor({ usage_class, allowed_instance_types: ['c6*', 'm5.*'] });
    const candidate = await manager.next();
    assert.deepEqual(candidate?.runner, {
      id: payload['id'],
      resource_class: payload['resourceClass'],
      instance_type: payload['instanceType'],
      cpu: payload['cpu'],
      memory_mib: payload['mmem'],
      usage_class: payload['usageClass'],
      threshold: Date.parse(String(payload['threshold'])),
      ...(message === ENVELOPED ? { enveloped: true } : {}),
    });
    // A claim that succeeds ends the message.
    await messages.drop([candidate]);
    assert.equal(await take(), null);
  }
});

test('one that does not fit goes back as it came, for others; the same one over and over is local exhaustion', async () => {
  for (const message of [ENVELOPED, BARE]) {
    await put(JSON.stringify(message));
    const { manager, counts } = managerFor({ usage_class: message === BARE ? 'spot' : 'on-demand' });
    assert.equal(await manager.next(), null);
    assert.equal(manager.exhaustion, 'local');
    assert.equal(counts.requeued, CLASSIC_POLICY.tolerance + 1);
    assert.deepEqual(await take(), message);
    assert.equal(await take(), null);
  }
});

test('an empty queue is global exhaustion', async () => {
  const { manager } = managerFor({});
  assert.equal(await manager.next(), null);
  assert.equal(manager.exhaustion, 'global');
});

test('one that is malformed, or whose size is not that of its class, is discarded', async () => {
  const bodies = [
    '{"instance_id": "i-04b6d92e51c07fa38"',
    JSON.stringify({ instance_id: 'i-0d18e7a4', payload: ENVELOPED.payload }),
    JSON.stringify({ ...BARE, id: 'the third one' }),
    JSON.stringify({ ...ENVELOPED, payload: { ...ENVELOPED.payload, cpu: 64 } }),
  ];
  for (const body of bodies) {
    await put(body);
    const { manager, counts } = managerFor({});
    assert.equal(await manager.next(), null);
    assert.deepEqual([counts.discarded, counts.requeued], [1, 0], body);
    assert.equal(await take(), null, body);
  }
});
