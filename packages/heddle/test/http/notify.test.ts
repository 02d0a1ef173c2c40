/** Completion notifications of workflows over HTTP: accepted, rejected, and listed without secrets. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { createEngine } from '@heddle/core/engine/engine';
import type { TransactionalEngine } from '@heddle/core/engine/engine';
import type { DeliveryDto } from '../../src/http/wire/delivery.ts';
import type { WorkflowNotificationDto } from '../../src/http/wire/notification.ts';
import type { SubmittedWorkflowDto } from '../../src/http/wire/workflow.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

const SLACK_PATH = '/services/T000/B000/XXXXsecretXXXX';

let server: TestServer;
let engine: TransactionalEngine;

before(async () => {
  const { database } = await createTestDatabase();
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  const ssrf = (url: string): string | null => (url.includes('169.254') ? 'is a link-local address' : null);
  server = await createTestServer({ engine, database, config: { ssrf } });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

// The response type is asserted by the caller and checked by its assertions.
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as said
async function submit<Body>(notify: unknown, kind = 'work'): Promise<{ status: number; body: Body }> {
  const root = { mode: 'sequential', children: [{ kind }] };
  const payload = { name: 'told', root, notify };
  const response = await server.app.inject({ method: 'POST', url: '/v1/workflows', payload });
  return { status: response.statusCode, body: JSON.parse(response.body) as Body };
}

test('a notification task is returned without the secrets of its receiver', async () => {
  const headers = { authorization: 'Bearer opens-the-door', 'x-team': 'red' };
  const inputs = [
    { webhook: { url: 'https://hooks.test/a', headers } },
    { slack: { url: `https://hooks.test${SLACK_PATH}` } },
  ];
  const children = inputs.map((to) => ({ kind: 'GenericNotification', input: { to, text: 'told' } }));
  const payload = { name: 'telling', root: { mode: 'parallel', children } };
  const submitted = await server.app.inject({ method: 'POST', url: '/v1/workflows', payload });
  assert.equal(submitted.statusCode, 201, submitted.body);
  const { id } = JSON.parse(submitted.body) as SubmittedWorkflowDto;
  const { body } = await server.app.inject({ method: 'GET', url: `/task?batch_id=${id}` });
  assert.doesNotMatch(body, /opens-the-door|XXXXsecretXXXX/);
  assert.match(body, /"x-team":"red"/);
  assert.match(body, /https:\/\/hooks\.test\/\[redacted\]/);
});

describe('a workflow with notify', () => {
  test('is rejected with the faults of its entries', async () => {
    const addresses = await submit<Problem>([
      { to: { slack: { url: 'http://169.254.169.254/latest' } } },
      { to: { email: { to: ['nobody'] } } },
    ]);
    assert.equal(addresses.status, 400);
    assert.match(addresses.body.details[0]!, /^notify\[1\]\.to\.email\.to\[0\]: must be an address/);
    const reachable = await submit<Problem>([{ to: { webhook: { url: 'http://169.254.169.254/latest' } } }]);
    assert.deepEqual(reachable.body.details, ['notify[0].to.webhook.url: is a link-local address']);
    const template = await submit<Problem>([
      { to: { email: { to: ['a@example.com'], subject: '{{ nodes }}' } }, payload: { a: [{ $expr: 'task.id' }] } },
    ]);
    assert.equal(template.status, 400);
    assert.match(template.body.details[0]!, /^notify\[0\]\.to\.email\.subject: must name what it reads: nodes\.NAME/);
    assert.match(template.body.details[1]!, /^notify\[0\]\.payload\.a\[0\]: there is no variable "task"/);
  });

  test('is rejected alone for an invalid template, and does not fail what is stored with it', async () => {
    const to = { slack: { url: 'https://hooks.slack.example/x' } };
    const [wrong, ...others] = await Promise.all([
      submit<Problem>([{ to, text: '{{ nodes.nobody.state }}' }], 'beside'),
      ...Array.from({ length: 5 }, () => submit<SubmittedWorkflowDto>([{ to, text: '{{ workflow.name }}' }], 'beside')),
    ]);
    assert.equal(wrong.status, 400);
    assert.deepEqual(wrong.body.details, ['notify[0].text: there is no node "nobody"']);
    assert.deepEqual(new Set(others.map(({ status }) => status)), new Set([201]));
  });

  test('creates deliveries that are listed without secrets, and without a task', async () => {
    const notify: WorkflowNotificationDto[] = [
      { to: { slack: { url: `https://hooks.slack.example${SLACK_PATH}` } } },
      { to: { webhook: { url: 'https://hooks.example.com/in', headers: { authorization: 'Bearer abcdef' } } } },
      { to: { email: { to: ['ops@example.com'] } } },
    ];
    const { status, body } = await submit<SubmittedWorkflowDto>(notify);
    assert.equal(status, 201);
    const [task] = await engine.claim({ lanes: ['kind:work'], limit: 1, holder: 'test' });
    await engine.report([{ task_id: task!.id, attempt: 1, outcome: 'failed', reason: 'no' }]);
    assert.equal(await engine.announceEnds([body.id]), 3);
    assert.equal(await engine.announceEnds([body.id]), 0);
    const listed = await server.app.inject({ method: 'GET', url: '/v1/webhooks' });
    assert.equal(listed.statusCode, 200);
    assert.ok(!listed.body.includes('secret') && !listed.body.includes('abcdef'), listed.body);
    const deliveries = JSON.parse(listed.body) as DeliveryDto[];
    assert.deepEqual(
      deliveries.map(({ task_id, batch_id }) => [task_id, batch_id]),
      Array(3).fill([null, body.id]),
    );
    const kinds = deliveries.map(({ action }) => `${action.trigger} ${action.kind}`).sort();
    assert.deepEqual(kinds, ['Notify Email', 'Notify Slack', 'Notify Webhook']);
    const [dead] = await engine.claimDeliveries({
      holder: 'test',
      limit: 1,
      limit_per_origin: 1,
      saturated_origins: [],
      lease_ms: 1000,
    });
    await engine.settleDeliveries([{ id: dead!.id, tries: 1, outcome: 'dead', status: 550, error: 'no such user' }]);
    const replayed = await server.app.inject({ method: 'POST', url: `/v1/webhooks/${dead!.id}/replay` });
    assert.equal(replayed.statusCode, 200);
  });
});
