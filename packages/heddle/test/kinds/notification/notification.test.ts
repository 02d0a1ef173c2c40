import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { deliverOnce } from '../../../src/dispatch/deliver.ts';
import { verifyStandardWebhook } from '@heddle/base/signing';
import { mailServer, startMailServer } from '../../support/dispatch/mail-server.ts';
import { dependencies, startTarget } from '../../support/dispatch/targets.ts';
import { bodyOf, newNotificationBench, runSequence, written } from '@heddle/test-support/kinds/notification/telling';

const HOOK = 'https://hooks.example.com/in';
const WEBHOOK = { webhook: { url: HOOK, headers: { authorization: 'Bearer secret-token' } } };
const SLACK = { slack: { url: 'https://hooks.slack.example/services/T0/B0/secret' } };

const dataOf = (body: JsonObject): JsonObject => body['data'] as JsonObject;

describe('GenericNotification', () => {
  it('renders its templates and succeeds with the message', async () => {
    const bench = await newNotificationBench();
    const outcome = await runSequence(bench, [
      { id: 'scan', kind: 'work', input: { result: { open: 3 } } },
      {
        kind: 'GenericNotification',
        name: 'tell',
        input: {
          to: WEBHOOK,
          title: '{{ workflow.name }}: {{ nodes.scan.result.open }} open',
          text: 'by {{ task.name }}',
        },
      },
    ]);
    assert.equal(outcome.state, 'succeeded');
    assert.deepEqual(outcome.of('GenericNotification'), { sent: true, deliveries: 1 });
    const [notice, ...others] = await written(bench);
    assert.deepEqual(others, []);
    const body = bodyOf(notice);
    assert.equal(body['type'], 'task.notification');
    assert.equal(dataOf(body)['title'], 'recon: 3 open');
    assert.equal(dataOf(body)['text'], 'by tell');
    assert.deepEqual([notice!.workflow_id, notice!.attempt], [outcome.id, 1]);
    assert.equal((dataOf(body)['task'] as JsonObject)['id'], notice!.task_id);
  });

  it('sends nothing if a template fails, and names it', async () => {
    const bench = await newNotificationBench();
    const outcome = await runSequence(bench, [
      { id: 'scan', kind: 'work' },
      { id: 'tell', kind: 'GenericNotification', input: { to: SLACK, text: '{{ nodes.scan.result.none }}' } },
    ]);
    assert.equal(outcome.state, 'partially_failed');
    const {
      tasks: [task],
    } = await bench.engine.listTasks({ workflow_id: outcome.id, states: ['failed'], offset: 0, limit: 10 });
    assert.match(task!.failure_reason!, /^text: .*nodes\.scan\.result\.none/);
    assert.deepEqual(await written(bench), []);
  });

  it('rejects an address that webhooks must not use', async () => {
    const bench = await newNotificationBench((url) => (url.includes('10.') ? 'is a private address' : null));
    const outcome = await runSequence(bench, [
      { kind: 'GenericNotification', input: { to: { webhook: { url: 'http://10.0.0.1/' } } } },
    ]);
    const {
      tasks: [task],
    } = await bench.engine.listTasks({ workflow_id: outcome.id, offset: 0, limit: 10 });
    assert.equal(task!.failure_reason, 'input.to.webhook.url: is a private address');
  });

  it('escapes injections into a Slack message', async () => {
    const bench = await newNotificationBench();
    await runSequence(bench, [
      { id: 'scan', kind: 'work', input: { result: '<!channel> & <https://evil.example|click>' } },
      { kind: 'GenericNotification', input: { to: SLACK, title: 'done', text: '{{ nodes.scan.result }}' } },
    ]);
    const body = bodyOf((await written(bench))[0]);
    assert.equal(body['text'], '*done*\n&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt;');
    const types = (body['blocks'] as JsonObject[]).map((block) => block['type']);
    assert.deepEqual(types, ['header', 'section', 'context']);
  });
});

describe('TaskResultNotification', () => {
  it('sends results as far as they fit, and the outcomes of tasks', async () => {
    const bench = await newNotificationBench();
    const outcome = await runSequence(bench, [
      ...Array.from({ length: 5 }, (_, n) => ({ id: `w${n}`, kind: 'work', input: { result: { n } } })),
      { id: 'large', kind: 'work', input: { result: 'x'.repeat(10_000) } },
      { id: 'bad', kind: 'work', input: { fail: 'no route' } },
      { kind: 'TaskResultNotification', input: { to: WEBHOOK, limit: 6 } },
    ]);
    assert.deepEqual(outcome.of('TaskResultNotification'), {
      sent: true,
      results: 6,
      more_results: false,
      deliveries: 1,
    });
    const data = dataOf(bodyOf((await written(bench))[0]));
    assert.deepEqual(data['counts'], { succeeded: 6, failed: 1 });
    const results = data['results'] as JsonObject[];
    assert.deepEqual(results[2]!['data'], { n: 2 });
    assert.equal((results[5]!['excerpt'] as string).length, 4_000);
    assert.match(data['text'] as string, /^Tasks: 6 succeeded, 1 failed\.\nw0 succeeded: \{"n":0\}\n/);
  });

  it('states that there are more, and exposes the included ones to templates', async () => {
    const bench = await newNotificationBench();
    await runSequence(bench, [
      ...Array.from({ length: 4 }, (_, n) => ({ id: `w${n}`, kind: 'work', input: { result: n } })),
      {
        kind: 'TaskResultNotification',
        input: {
          to: WEBHOOK,
          limit: 2,
          payload: { sum: { $expr: '1' }, told: '{{ results.map(r, r.data) }} of {{ counts.succeeded }}' },
        },
      },
    ]);
    assert.deepEqual(bodyOf((await written(bench))[0]), { sum: 1, told: '[0,1] of 4' });
  });
});

describe('ErrorNotification', () => {
  it('reports failures before and below it, by name and reason', async () => {
    const bench = await newNotificationBench();
    const below = [
      { kind: 'work', name: 'inner', input: { fail: 'no route to host' } },
      { kind: 'work', input: { result: 1 } },
    ];
    const outcome = await runSequence(bench, [
      { mode: 'parallel', children: below },
      { kind: 'work', name: 'outer', input: { fail: 'out of memory' } },
      { kind: 'ErrorNotification', input: { to: WEBHOOK } },
      { kind: 'work', name: 'later', input: { fail: 'not told' } },
    ]);
    assert.deepEqual(outcome.of('ErrorNotification'), { sent: true, errors: 2, deliveries: 1 });
    const data = dataOf(bodyOf((await written(bench))[0]));
    assert.equal(data['title'], 'Workflow recon: 2 tasks ended badly');
    assert.deepEqual((data['text'] as string).split('\n').sort(), [
      'inner failed: no route to host',
      'outer failed: out of memory',
    ]);
  });

  it('sends nothing without failures', async () => {
    const bench = await newNotificationBench();
    const outcome = await runSequence(bench, [{ kind: 'work' }, { kind: 'ErrorNotification', input: { to: WEBHOOK } }]);
    assert.deepEqual(outcome.of('ErrorNotification'), { sent: false, errors: 0 });
    assert.deepEqual(await written(bench), []);
  });

  it('sends once, whichever of several comes first, and again after a retry', async () => {
    const bench = await newNotificationBench();
    const tellers = Array.from({ length: 4 }, () => ({ kind: 'ErrorNotification', input: { to: WEBHOOK } }));
    const { id } = await runSequence(bench, [{ kind: 'work', input: { fail: 'always' } }, ...tellers]);
    const sent = async (): Promise<boolean[]> => {
      const results = await bench.engine.readResults({ workflow_id: id }, null, 100);
      return results
        .filter(({ kind }) => kind === 'ErrorNotification')
        .map(({ data }) => (data as JsonObject)['sent'] as boolean);
    };
    assert.deepEqual((await sent()).sort(), [false, false, false, true]);
    assert.equal((await written(bench)).length, 1);
    const { startKinds, ended } = await import('@heddle/test-support/kinds/recon/run-workflow');
    await bench.engine.retryWorkflow(id);
    const stopping = startKinds(bench.engine, bench.kinds);
    await ended(bench.engine, id);
    await stopping.stop();
    assert.deepEqual((await sent()).sort(), [false, false, false, true]);
    assert.equal((await written(bench)).length, 1, 'one in addition to the delivered one');
  });

  it('sends a plain message if its template fails', async () => {
    const bench = await newNotificationBench();
    const outcome = await runSequence(bench, [
      { id: 'bad', kind: 'work', input: { fail: 'no route' } },
      { kind: 'ErrorNotification', input: { to: WEBHOOK, title: '{{ nodes.bad.result.x }}' } },
    ]);
    assert.equal((outcome.of('ErrorNotification') as JsonObject)['sent'], true);
    const data = dataOf(bodyOf((await written(bench))[0]));
    assert.match(data['text'] as string, /^bad failed: no route\n\nThe template of this notification failed: title: /);
  });
});

describe('from a task to a recipient', () => {
  it('by a signed webhook, and by a Slack-compatible one', async () => {
    const target = await startTarget((_, response) => response.end('ok'));
    const deps = dependencies();
    const bench = await newNotificationBench();
    await runSequence(bench, [
      {
        kind: 'GenericNotification',
        name: 'one',
        input: { to: { webhook: { url: `${target.url}/hook` } }, text: 'hello' },
      },
      {
        kind: 'GenericNotification',
        name: 'two',
        input: { to: { slack: { url: `${target.url}/slack` } }, text: 'hello' },
      },
    ]);
    const deliveries = await written(bench);
    const results = await Promise.all(deliveries.map((delivery) => deliverOnce(delivery, deps)));
    await bench.engine.settleDeliveries(results);
    const [hook, slack] = target.received.sort((a, b) => (a.url < b.url ? -1 : 1));
    const nowSecs = Math.floor(deps.clock.now() / 1000);
    assert.ok(verifyStandardWebhook(hook!.headers, hook!.body, [deps.identity.signingKeys[0]!], nowSecs));
    assert.equal(hook!.headers['x-task-trigger'], 'notify');
    assert.equal(hook!.headers['x-workflow-id'], deliveries[0]!.workflow_id);
    assert.deepEqual(Object.keys(JSON.parse(slack!.body) as object), ['text', 'blocks']);
    const stored = await bench.engine.listDeliveries({ offset: 0, limit: 10 });
    assert.deepEqual(
      stored.map(({ state }) => state),
      ['delivered', 'delivered'],
    );
    await deps.close();
    await target.close();
  });

  it('by mail, one per recipient: rejected ones are dead-lettered, and can be replayed', async () => {
    const server = await startMailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('gone') ? Object.assign(new Error('no such user'), { responseCode: 550 }) : undefined),
    });
    const mail = mailServer(`smtp://127.0.0.1:${server.port}`);
    const deps = dependencies({ mail });
    const bench = await newNotificationBench();
    const to = { email: { to: ['ops@example.com', 'gone@example.com'], subject: 'Result: {{ nodes.scan.result }}' } };
    const outcome = await runSequence(bench, [
      { id: 'scan', kind: 'work', input: { result: 'a\r\nBcc: eve@example.com' } },
      { kind: 'GenericNotification', input: { to, text: 'see the subject' } },
    ]);
    assert.deepEqual(outcome.of('GenericNotification'), { sent: true, deliveries: 2 });
    for (const delivery of await written(bench))
      await bench.engine.settleDeliveries([await deliverOnce(delivery, deps)]);
    assert.equal(server.received.length, 1);
    assert.match(server.received[0]!.text, /^Subject: Result: a Bcc: eve@example\.com\r$/m);
    const [dead, ...others] = await bench.engine.listDeliveries({ state: 'dead', offset: 0, limit: 10 });
    assert.deepEqual(others, []);
    assert.equal(dead!.last_status, 550);
    assert.equal(await bench.engine.replayDeliveries([dead!.id]), 1);
    assert.equal((await written(bench)).length, 1);
    await mail.close();
    await deps.close();
    await server.close();
  });
});
