import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { handleUrl, verifyHandle, verifyStandardWebhook } from '@heddle/base/signing';
import { VirtualClock } from '@heddle/base/clock';
import type { DeliveryResult } from '@heddle/core/engine/port';
import { deliverOnce } from '../../src/dispatch/deliver.ts';
import { ANSWER_BYTES_MAX } from '@heddle/base/outbound/send';
import { eventually } from '@heddle/test-support/eventually';
import {
  delivery,
  DELIVERY_ID,
  dependencies,
  recordingLogger,
  startTarget,
  TASK_ID,
} from '../support/dispatch/targets.ts';
import type { LogLine, Target } from '../support/dispatch/targets.ts';

const opened: { close: () => Promise<void> }[] = [];
const track = <T extends { close: () => Promise<void> }>(one: T): T => (opened.push(one), one);
after(() => Promise.all(opened.map((one) => one.close())));

const errorOf = (result: DeliveryResult): string => (result.outcome === 'delivered' ? '' : result.error);
const ok = (): Promise<Target> => startTarget((_, response) => response.end('ok')).then(track);
const answering = (status: number, body = '', headers: Record<string, string> = {}): Promise<Target> =>
  startTarget((_, response) => response.writeHead(status, headers).end(body)).then(track);

/** Resolves with the next message of a diagnostics channel. */
function nextMessage(channel: string): Promise<void> {
  return new Promise((resolve) => {
    const receive = (): void => {
      unsubscribe(channel, receive);
      resolve();
    };
    subscribe(channel, receive);
  });
}

describe('the request', () => {
  it('has the documented headers and the exact body', async () => {
    const target = await ok();
    const deps = track(dependencies());
    const body = { text: 'grün', list: [1, null], nested: { a: true } };
    const result = await deliverOnce(delivery(`${target.url}/done?x=1`, { params: { body } }), deps);
    assert.deepEqual(result, { id: DELIVERY_ID, tries: 1, outcome: 'delivered', status: 200 });
    const [request] = target.received;
    assert.equal(request!.method, 'POST');
    assert.equal(request!.url, '/done?x=1');
    assert.equal(request!.body, JSON.stringify(body));
    assert.equal(request!.headers['content-type'], 'application/json');
    assert.equal(request!.headers['content-length'], String(Buffer.byteLength(request!.body)));
    assert.equal(request!.headers['idempotency-key'], `${TASK_ID}:end:success`);
    assert.equal(request!.headers['x-task-id'], TASK_ID);
    assert.equal(request!.headers['x-task-trigger'], 'end');
    assert.equal(request!.headers['user-agent'], 'heddle/1.2.3');
    assert.equal(request!.headers['webhook-id'], DELIVERY_ID);
  });

  it('names the triggers start, end and cancel', async () => {
    const target = await ok();
    const deps = track(dependencies());
    for (const trigger of ['start', 'success', 'failure', 'cancel'] as const) {
      await deliverOnce(delivery(target.url, { trigger }), deps);
    }
    const triggers = target.received.map((request) => request.headers['x-task-trigger']);
    assert.deepEqual(triggers, ['start', 'end', 'end', 'cancel']);
    const metrics = await deps.metrics.registry.metrics();
    assert.match(metrics, /webhook_executions_total\{trigger="end",outcome="success"\} 2/);
    assert.match(metrics, /webhook_attempts_total\{trigger="cancel",outcome="success"\} 1/);
    assert.match(metrics, /webhook_duration_seconds_count\{trigger="start"\} 1/);
  });

  it('is signed with every active key, over the sent bytes', async () => {
    const target = await ok();
    const deps = track(dependencies());
    await deliverOnce(delivery(target.url, { params: { body: { a: 'ä' } } }), deps);
    await deliverOnce(delivery(target.url, { params: { verb: 'Get', body: { left: 'out' } } }), deps);
    const nowSecs = Math.floor(deps.clock.now() / 1000);
    for (const { headers, body } of target.received) {
      for (const key of deps.identity.signingKeys) {
        assert.ok(verifyStandardWebhook(headers, body, [key], nowSecs));
        assert.ok(!verifyStandardWebhook(headers, `${body} `, [key], nowSecs));
      }
      assert.ok(!verifyStandardWebhook(headers, body, [Buffer.alloc(32, 9)], nowSecs));
    }
    assert.equal(target.received[1]!.body, '');
    assert.equal(target.received[1]!.headers['content-type'], undefined);
  });

  it('uses every verb, without a body if there is none', async () => {
    const target = await ok();
    const deps = track(dependencies());
    for (const verb of ['Get', 'Post', 'Put', 'Patch', 'Delete'] as const) {
      await deliverOnce(delivery(target.url, { params: { verb } }), deps);
      if (verb !== 'Get') await deliverOnce(delivery(target.url, { params: { verb, body: [verb] } }), deps);
    }
    assert.deepEqual(
      target.received.map(({ method, body }) => `${method} ${body}`.trim()),
      ['GET', 'POST', 'POST ["Post"]', 'PUT', 'PUT ["Put"]', 'PATCH', 'PATCH ["Patch"]', 'DELETE', 'DELETE ["Delete"]'],
    );
  });

  it("keeps the action's own headers, except those that are Heddle's or the connection's", async () => {
    const target = await ok();
    const deps = track(dependencies());
    const headers = {
      'X-Custom': 'kept',
      Authorization: 'Bearer abc',
      'Content-Type': 'application/cloudevents+json',
      HOST: 'evil.example',
      'content-LENGTH': '3',
      'Transfer-Encoding': 'chunked',
      Connection: 'upgrade',
      Upgrade: 'websocket',
      'Proxy-Authorization': 'x',
      'X-TASK-ID': 'forged',
      'idempotency-key': 'forged',
      'Webhook-Signature': 'v1,forged',
      'User-Agent': 'forged',
      TraceParent: 'forged',
      'X-Split': 'a\r\nX-Injected: 1',
      'bad name': 'x',
    };
    await deliverOnce(delivery(target.url, { params: { headers, body: {} } }), deps);
    const got = target.received[0]!.headers;
    assert.equal(got['x-custom'], 'kept');
    assert.equal(got['authorization'], 'Bearer abc');
    assert.equal(got['content-type'], 'application/cloudevents+json');
    assert.equal(got.host, new URL(target.url).host);
    assert.equal(got['content-length'], '2');
    assert.equal(got['x-task-id'], TASK_ID);
    assert.equal(got['idempotency-key'], `${TASK_ID}:end:success`);
    assert.equal(got['user-agent'], 'heddle/1.2.3');
    for (const name of [
      'transfer-encoding',
      'upgrade',
      'proxy-authorization',
      'traceparent',
      'x-split',
      'x-injected',
    ]) {
      assert.equal(got[name], undefined, name);
    }
    assert.doesNotMatch(got['webhook-signature'] as string, /forged/);
  });

  it('appends the signed handle to a start and keeps the query unchanged', async () => {
    const target = await ok();
    const deps = track(dependencies());
    const queries = ['', '?a=1&b=%20x+y&c', '?handle=forged&z=1'];
    for (const query of queries) {
      await deliverOnce(delivery(`${target.url}/run${query}`, { trigger: 'start', attempt: 3 }), deps);
    }
    const handle = handleUrl('https://heddle.example/base', TASK_ID, 3, deps.identity.handleKey);
    const encoded = encodeURIComponent(handle);
    assert.deepEqual(
      target.received.map(({ url }) => url),
      [`/run?handle=${encoded}`, `/run?a=1&b=%20x+y&c&handle=${encoded}`, `/run?z=1&handle=${encoded}`],
    );
    const received = new URL(new URL(target.received[0]!.url, target.url).searchParams.get('handle')!);
    assert.equal(received.pathname, `/base/task/${TASK_ID}`);
    assert.ok(verifyHandle(TASK_ID, 3, received.searchParams.get('signature')!, [deps.identity.handleKey]));
    await deliverOnce(delivery(`${target.url}/end`), deps);
    assert.equal(target.received.at(-1)!.url, '/end');
  });

  it("continues the caller's trace", async () => {
    const target = await ok();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await deliverOnce(delivery(target.url, { traceparent }), track(dependencies()));
    assert.match(target.received[0]!.headers['traceparent'] as string, /^00-0af7651916cd43dd8448eb211c80319c-/);
  });
});

describe('the response', () => {
  it('2xx delivers', async () => {
    for (const status of [200, 201, 202, 204, 299]) {
      const target = await answering(status);
      assert.equal((await deliverOnce(delivery(target.url), track(dependencies()))).outcome, 'delivered');
    }
  });

  it('408, 425, 429 and 5xx are retried, every other status is final', async () => {
    const expected: Record<number, string> = { 408: 'retry', 425: 'retry', 429: 'retry', 500: 'retry', 502: 'retry' };
    for (const status of [
      300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 408, 409, 410, 422, 425, 429, 451, 500, 502,
    ]) {
      const target = await answering(status);
      const result = await deliverOnce(delivery(target.url), track(dependencies()));
      assert.equal(result.outcome, expected[status] ?? 'dead', String(status));
      assert.match(errorOf(result), new RegExp(`answered ${status}`));
    }
  });

  it('is quoted in the error: 200 characters of text, without secrets and characters that a database rejects', async () => {
    const deps = track(dependencies());
    const echo = track(
      await startTarget(({ url, headers }, response) => {
        response.writeHead(400, { 'content-type': 'text/plain' });
        const key = new URL(url, 'http://x').searchParams.get('api_key');
        const token = String(headers['authorization']).slice(7);
        response.end(`\u0000bad\r\n\t${btoa(token)} token ${token} or ${key} at ${url} ${'x'.repeat(500)}`);
      }),
    );
    const params = { headers: { authorization: 'Bearer s3cr3t-t0ken' } };
    const result = await deliverOnce(delivery(`${echo.url}/?api_key=s3cr3t-k3y`, { trigger: 'start', params }), deps);
    const error = errorOf(result);
    assert.match(
      error,
      /answered 400: bad \[redacted\] token \[redacted\] or \[redacted\] at \/\?api_key=\[redacted\]&handle=/,
    );
    assert.doesNotMatch(error, /s3cr3t/);
    const handle = new URL(new URL(echo.received[0]!.url, echo.url).searchParams.get('handle')!);
    assert.ok(!error.includes(handle.searchParams.get('signature')!.slice(0, 8)));
    assert.ok(error.length < 300, `${error.length} characters`);
    assert.doesNotMatch(error, /[\x00-\x1f]/);

    const binary = await answering(500, '\u0001\u0002binary', { 'content-type': 'application/octet-stream' });
    assert.match(errorOf(await deliverOnce(delivery(binary.url), deps)), /answered 500$/);
  });

  it('is read up to a limit, and a flood is cut off', async () => {
    const written: number[] = [];
    const flood = track(
      await startTarget((_, response) => {
        const chunk = Buffer.alloc(64 * 1024, 'x');
        let sent = 0;
        const write = (): void => {
          while (!response.destroyed && sent < 1024) {
            sent += 1;
            if (!response.write(chunk)) return void response.once('drain', write);
          }
          response.end();
        };
        response.on('close', () => written.push(sent));
        response.writeHead(500, { 'content-type': 'text/plain' });
        write();
      }),
    );
    const result = await deliverOnce(delivery(flood.url), track(dependencies()));
    assert.equal(result.outcome, 'retry');
    await eventually(() => written.length === 1, 'the target sees its connection closed');
    assert.ok(written[0]! * 64 * 1024 < 64 * 1024 * 1024, 'the whole answer was read');
    assert.ok(errorOf(result).length < 300);
  });

  it('that never arrives is a failed try at the timeout', async () => {
    const silent = track(await startTarget(() => undefined));
    const result = await deliverOnce(delivery(silent.url), track(dependencies({ tryLimitMs: 60 })));
    assert.equal(result.outcome, 'retry');
    assert.match(errorOf(result), /no response within 60 ms/);
  });

  it('whose headers drip is cut off at the timeout', async () => {
    const dripping = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 200 OK\r\n');
    });
    dripping.listen(0, '127.0.0.1');
    await once(dripping, 'listening');
    const { port } = dripping.address() as AddressInfo;
    const result = await deliverOnce(delivery(`http://127.0.0.1:${port}/`), track(dependencies({ tryLimitMs: 60 })));
    dripping.close();
    assert.equal(result.outcome, 'retry');
  });

  it('counts by its status if its body never ends, and registers nothing', async () => {
    const lines: LogLine[] = [];
    const dripping = track(
      await startTarget((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"kind":"Webhook","params":{"url":"http://127.0.0.1:1/","verb":"Post"}}');
      }),
    );
    const clock = new VirtualClock();
    const deps = track(dependencies({ tryLimitMs: 60, clock, log: recordingLogger(lines) }));
    const headersArrive = nextMessage('undici:request:headers');
    const delivered = deliverOnce(delivery(dripping.url, { trigger: 'start' }), deps);
    await headersArrive;
    await clock.advance(60);
    const result = await delivered;
    assert.deepEqual(result, { id: DELIVERY_ID, tries: 1, outcome: 'delivered', status: 200 });
    assert.equal(lines[0]?.level, 'warn');
    assert.equal(lines[0].fields['cut'], 'time');
  });

  it('that is not HTTP, or missing, is retried', async () => {
    const answers = { 'not HTTP': 'SSH-2.0-OpenSSH\r\n', 'closed before an answer': '' };
    for (const [expected, bytes] of Object.entries(answers)) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.end(bytes));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const result = await deliverOnce(delivery(`http://127.0.0.1:${port}/`), track(dependencies()));
      server.close();
      assert.equal(result.outcome, 'retry');
      if (expected === 'not HTTP') assert.match(errorOf(result), /not valid HTTP/);
      else assert.match(errorOf(result), /closed before a response|reset/);
    }
    const gone = await ok();
    await gone.close();
    opened.splice(opened.indexOf(gone), 1);
    assert.match(errorOf(await deliverOnce(delivery(gone.url), track(dependencies()))), /connection refused/);
  });
});

describe('a kept-alive connection', () => {
  it('that the target closes on reuse costs no try', async () => {
    const seen: string[] = [];
    let accepted = 0;
    const server = createServer((socket) => {
      const name = `connection ${(accepted += 1)}`;
      let requests = 0;
      socket.on('error', () => undefined);
      socket.on('data', () => {
        requests += 1;
        seen.push(`${name} request ${requests}`);
        if (requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        else socket.destroy();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const deps = track(dependencies({ agentOptions: { connectionsPerOrigin: 1 } }));
    for (let n = 0; n < 2; n += 1) {
      assert.equal((await deliverOnce(delivery(`http://127.0.0.1:${port}/`), deps)).outcome, 'delivered');
    }
    server.close();
    assert.deepEqual(seen, ['connection 1 request 1', 'connection 1 request 2', 'connection 2 request 1']);
  });
});

describe('a start response', () => {
  const start = async (answer: unknown, lines: LogLine[] = []): Promise<DeliveryResult> => {
    const body = typeof answer === 'string' ? answer : JSON.stringify(answer);
    const target = await answering(200, body, { 'content-type': 'application/json' });
    const deps = track(dependencies({ log: recordingLogger(lines) }));
    return deliverOnce(delivery(target.url, { trigger: 'start' }), deps);
  };

  it('registers a cancel action', async () => {
    const params = {
      url: 'https://example.com/stop?id=1',
      verb: 'Delete',
      headers: { 'X-A': 'b' },
      body: { why: 'canceled' },
    };
    const expected = { trigger: 'cancel', params };
    for (const trigger of [{}, { trigger: 'Cancel' }, { trigger: null }]) {
      const result = await start({ kind: 'Webhook', ...trigger, params });
      assert.deepEqual(result.outcome === 'delivered' && result.cancel_action, expected);
    }
  });

  it('without an action is not a fault', async () => {
    for (const answer of ['', 'ok', '[]', 'null', '{"ok":true}', '{"kind":', '17']) {
      const lines: LogLine[] = [];
      assert.deepEqual(await start(answer, lines), { id: DELIVERY_ID, tries: 1, outcome: 'delivered', status: 200 });
      assert.deepEqual(lines, [], answer);
    }
  });

  it('with an invalid action is logged by its field and otherwise ignored', async () => {
    const params = { url: 'https://example.com/', verb: 'Post' };
    const faults: [unknown, RegExp][] = [
      [{ kind: 'Mail', params }, /^kind:/],
      [{ params }, /^kind:/],
      [{ kind: 'Webhook', trigger: 'End', params }, /^trigger:/],
      [{ kind: 'Webhook', params: 'x' }, /^params:/],
      [{ kind: 'Webhook', params: { verb: 'Post' } }, /^params\.url:/],
      [{ kind: 'Webhook', params: { ...params, url: 'http://169.254.169.254/' } }, /^params\.url: .*metadata/],
      [{ kind: 'Webhook', params: { ...params, verb: 'post' } }, /^params\.verb:/],
      [{ kind: 'Webhook', params: { ...params, headers: { a: 1 } } }, /^params\.headers\.a:/],
      [{ kind: 'Webhook', params: { ...params, headers: { 'a b': '1' } } }, /^params\.headers\.a b:/],
      [{ kind: 'Webhook', params: { ...params, headers: { a: 'x\ny' } } }, /^params\.headers\.a:/],
      [{ kind: 'Webhook', params: { ...params, body: 'nul \u0000' } }, /NUL/],
      [{ kind: 'Webhook', params, max_tries: 0 }, /^max_tries:/],
      [`{"kind":"Webhook","params":{"url":"https://example.com/","verb":"Post","body":"\\ud800"}}`, /surrogate/],
      [`{"kind":"Webhook","params":{"body":${'['.repeat(5000)}${']'.repeat(5000)}}}`, /nested/],
    ];
    for (const [answer, fault] of faults) {
      const lines: LogLine[] = [];
      const result = await start(answer, lines);
      assert.deepEqual(result, { id: DELIVERY_ID, tries: 1, outcome: 'delivered', status: 200 });
      assert.match(String(lines[0]?.fields['fault']), fault);
    }
  });

  it('longer than the limit registers nothing', async () => {
    const lines: LogLine[] = [];
    const params = { url: 'https://example.com/', verb: 'Post', body: 'x'.repeat(ANSWER_BYTES_MAX) };
    const result = await start({ kind: 'Webhook', params }, lines);
    assert.equal(result.outcome === 'delivered' && result.cancel_action, undefined);
    assert.equal(lines[0]?.fields['cut'], 'size');
  });

  it('of an end delivery is not read as an action', async () => {
    const answer = { kind: 'Webhook', params: { url: 'https://example.com/', verb: 'Post' } };
    const target = await answering(200, JSON.stringify(answer));
    const result = await deliverOnce(delivery(target.url), track(dependencies()));
    assert.equal('cancel_action' in result, false);
  });
});

describe('aborting', () => {
  it('a stop ends the try at once and leaves the delivery due', async () => {
    const silent = track(await startTarget(() => stop.abort()));
    const stop = new AbortController();
    const result = await deliverOnce(delivery(silent.url, { tries: 99 }), track(dependencies()), stop.signal);
    assert.deepEqual(
      { ...result, error: '' },
      { id: DELIVERY_ID, tries: 99, outcome: 'retry', status: null, error: '', delay_ms: 0 },
    );
  });

  it('the last try is limited to the remaining time of the delivery', async () => {
    const silent = track(await startTarget(() => void clock.advance(1500)));
    const clock = new VirtualClock();
    const almostOver = delivery(silent.url, { trigger: 'start', tries: 5, first_try_at: clock.now() - 118_500 });
    const result = await deliverOnce(almostOver, track(dependencies({ clock })));
    assert.equal(result.outcome, 'dead');
    assert.match(errorOf(result), /no response within 2 s/);
  });

  it('a URL that was stored before the policy changed is rejected when it is called', async () => {
    const result = await deliverOnce(delivery('http://10.0.0.1/'), track(dependencies()));
    assert.equal(result.outcome, 'dead');
    assert.match(errorOf(result), /not allowed: 10\.0\.0\.1 is a private address/);
  });
});
