import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { Fixture, OpenTier, type Payload } from '../support/manager/fixture.ts';
import { MemoryDisk } from '../support/manager/memory-disk.ts';

function open(options: Parameters<typeof Fixture.open>[0] = {}): Promise<Fixture> {
  return Fixture.open({ files: new MemoryDisk(), ...options });
}

function echoing(): OpenTier {
  const tier = new OpenTier();
  tier.answer = ({ args }) => ({ status: 'success', result: args });
  return tier;
}

describe('a submission', () => {
  test('returns the result with the exact bytes of the tier', async () => {
    const tier = new OpenTier();
    tier.answer = () => ({ status: 'success', result: Buffer.from('{ "n":1.50e1,\n"ü":[ ] }') });
    await using fixture = await open({ tier });
    const received = fixture.received('submit', { event_name: 'Echo', args: { a: 1 } });
    const reply = await fixture.manager.handle(received);
    const payload = fixture.read(received, reply);
    assert.equal(payload.status, 'success');
    assert.match(payload.correlation_id!, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.ok(Buffer.from(reply.response.payload).includes('"result":{ "n":1.50e1,\n"ü":[ ] },"completed_at":"20'));
    assert.deepEqual([reply.code, reply.pending, tier.runs[0]!.args], [null, false, { a: 1 }]);
    assert.equal(fixture.events.held, 0);
    assert.deepEqual(
      fixture.audit.map(({ action }) => action),
      ['resolved', 'executed', 'responded'],
    );
  });

  test('async returns on acceptance and is polled, only by its owner', async () => {
    await using fixture = await open();
    const accepted = await fixture.submit({}, { mode: 'async' });
    // Acceptance and start may be in one commit.
    assert.match(accepted.status, /^(pending|running)$/);
    const correlation_id = accepted.correlation_id!;
    await fixture.tier.begun(1);
    assert.equal((await fixture.call('poll', { correlation_id })).status, 'running');
    assert.equal((await fixture.call('poll', { correlation_id }, { client: 'bob' })).code, 'NOT_FOUND');
    assert.equal((await fixture.call('cancel', { correlation_id }, { client: 'bob' })).code, 'NOT_FOUND');
    const waits = fixture.call('poll', { correlation_id, wait_secs: 30 });
    fixture.tier.runs[0]!.succeed(7);
    assert.equal((await waits).result, 7);
    assert.deepEqual(
      (await fixture.call('ack', { correlation_ids: [correlation_id] }, { client: 'bob' })).acknowledged,
      [],
    );
    assert.deepEqual((await fixture.call('ack', { correlation_ids: [correlation_id] })).acknowledged, [correlation_id]);
    assert.equal((await fixture.call('poll', { correlation_id })).code, 'NOT_FOUND');
  });

  test('progress is sent with increasing sequence numbers while a call waits, followed by the result', async () => {
    await using fixture = await open();
    const reported: Payload[] = [];
    const received = fixture.received('submit', { event_name: 'Echo', args: {} });
    const answer = fixture.manager.handle(received, (reply) => {
      assert.equal(reply.response.sequence, reported.length);
      reported.push(fixture.read(received, reply));
    });
    await fixture.tier.begun(1);
    fixture.tier.runs[0]!.hooks.onProgress({ fraction: 0.5 });
    assert.deepEqual(
      reported.map(({ status, progress }) => [status, progress]),
      [['running', { fraction: 0.5 }]],
    );
    fixture.tier.runs[0]!.succeed();
    assert.equal((await answer).response.sequence, 1);
  });

  test('a disconnected caller leaves the task running, and polls for it later', async () => {
    await using fixture = await open();
    const gone = new AbortController();
    const answer = fixture.submit({}, { idempotency_key: 'k' }, { signal: gone.signal });
    await fixture.tier.begun(1);
    gone.abort();
    assert.equal((await answer).status, 'running');
    fixture.tier.runs[0]!.succeed('late');
    assert.equal((await fixture.submit({}, { idempotency_key: 'k' })).result, 'late');
    assert.equal(fixture.tier.runs.length, 1);
  });
});

describe('refusals', () => {
  const cases: [string, unknown, string, Partial<Parameters<typeof open>[0]>?][] = [
    ['not JSON', '{', 'MALFORMED'],
    ['not an object', '[]', 'MALFORMED'],
    ['nothing', '', 'MALFORMED'],
    ['a duplicate member', '{"event_name":"Echo","event_name":"Echo","args":{}}', 'MALFORMED'],
    ['deep nesting', `{"event_name":"Echo","args":{"a":${'['.repeat(9_000)}${']'.repeat(9_000)}}}`, 'MALFORMED'],
    ['__proto__', '{"event_name":"Echo","args":{"__proto__":{"a":1}}}', 'MALFORMED'],
    ['an unknown member', { event_name: 'Echo', args: {}, run_as: 'root' }, 'MALFORMED'],
    ['no name', { args: {} }, 'MALFORMED'],
    ['a name with other characters', { event_name: 'Écho', args: {} }, 'MALFORMED'],
    ['no arguments', { event_name: 'Echo' }, 'MALFORMED'],
    ['arguments that are not an object', { event_name: 'Echo', args: [1] }, 'INVALID_ARGS'],
    ['no such mode', { event_name: 'Echo', args: {}, mode: 'later' }, 'MALFORMED'],
    ['a timeout of zero', { event_name: 'Echo', args: {}, timeout_secs: 0 }, 'MALFORMED'],
    ['an event that is not allowed', { event_name: 'Other', args: {} }, 'EVENT_NOT_WHITELISTED'],
    ['an event in another case', { event_name: 'echo', args: {} }, 'EVENT_NOT_WHITELISTED'],
    ['a name of the prototype', { event_name: 'constructor', args: {} }, 'EVENT_NOT_WHITELISTED'],
    ['an allowed but unregistered event', { event_name: 'Gone', args: {} }, 'EVENT_NOT_REGISTERED'],
  ];
  for (const [what, payload, code] of cases) {
    test(`${what}: ${code}, signed`, async () => {
      await using fixture = await open({ settings: { allowedEvents: ['Echo', 'Gone'] } });
      const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
      const answer = await fixture.call('submit', bytes);
      assert.equal(answer.code, code);
      assert.equal(fixture.tier.runs.length, 0);
      assert.deepEqual(
        fixture.audit.map(({ action }) => action),
        ['rejected'],
      );
    });
  }

  test('an empty allow-list allows nothing, * all registered events', async () => {
    await using closed = await open({ settings: { allowedEvents: [] } });
    assert.equal((await closed.submit()).code, 'EVENT_NOT_WHITELISTED');
    await using all = await open({ tier: echoing(), settings: { allowedEvents: ['*'] } });
    assert.equal((await all.submit()).status, 'success');
    assert.equal((await all.submit({}, { event_name: 'constructor' })).code, 'EVENT_NOT_REGISTERED');
  });

  test('available events are listed only in debug mode', async () => {
    const events = { Echo: {}, Ping: {}, Secret: {} };
    const settings = { allowedEvents: ['Echo', 'Ping', 'Nope'] };
    await using quiet = await open({ events, settings });
    assert.equal((await quiet.submit({}, { event_name: 'Nope' })).available_events, undefined);
    await using debug = await open({ events, settings: { ...settings, debug: true } });
    assert.deepEqual((await debug.submit({}, { event_name: 'Nope' })).available_events, ['Echo', 'Ping']);
  });

  test('a token allows what its scopes permit', async () => {
    await using fixture = await open({
      tier: echoing(),
      scopes: ['task:execute:Echo'],
      events: { Echo: {}, Ping: {} },
    });
    assert.equal((await fixture.submit()).status, 'success');
    assert.equal((await fixture.submit({}, { event_name: 'Ping' })).code, 'FORBIDDEN');
    assert.equal((await fixture.call('poll', { correlation_id: 'x' })).code, 'FORBIDDEN');
    assert.equal((await fixture.call('cancel', { correlation_id: 'x' })).code, 'FORBIDDEN');
    assert.equal((await fixture.call('status', {})).code, 'FORBIDDEN');
    assert.equal((await fixture.call('events', {})).code, 'FORBIDDEN');
    assert.equal((await fixture.call('event', { event_name: 'Echo' })).exists, true);
    assert.equal((await fixture.call('event', { event_name: 'Ping' })).code, 'FORBIDDEN');
  });

  test('a wrong MAC, a replay and an expired request are rejected, signed for key holders', async () => {
    await using fixture = await open({ tier: echoing() });
    const received = fixture.received('submit', { event_name: 'Echo', args: {} });
    const forged = { ...received, request: { ...received.request, mac: new Uint8Array(32) } };
    assert.equal(fixture.read(forged, await fixture.manager.handle(forged)).code, 'INVALID_CHECKSUM');
    // The manager drops a request's payload once it has read it.
    const replay = { ...received, request: { ...received.request } };
    assert.equal(fixture.read(received, await fixture.manager.handle(received)).status, 'success');
    assert.equal(fixture.read(replay, await fixture.manager.handle(replay)).code, 'REPLAYED');
    const unknown = { ...received, request: { ...received.request, key_id: 'other' } };
    const reply = await fixture.manager.handle(unknown);
    assert.deepEqual([reply.code, reply.response.mac.length], ['UNAUTHENTICATED', 0]);
    assert.equal(fixture.tier.runs.length, 1);
  });
});

describe('an idempotency key', () => {
  test('returns the first task whatever the member order of its arguments', async () => {
    await using fixture = await open({ tier: echoing() });
    const key = { idempotency_key: 'order-2', mode: 'async' } as const;
    const first = await fixture.submit({ a: 1, b: [{ c: 2, d: 3 }] }, key);
    const second = await fixture.submit({ b: [{ d: 3, c: 2 }], a: 1 }, key);
    assert.equal(second.correlation_id, first.correlation_id);
    assert.equal((await fixture.submit({ a: 1, b: [{ c: 3, d: 2 }] }, key)).code, 'IDEMPOTENCY_MISMATCH');
  });

  test('returns the first task, also while it waits; other arguments are rejected', async () => {
    await using fixture = await open();
    const key = { idempotency_key: 'order-1' };
    const first = fixture.submit({ a: 1 }, key);
    await fixture.tier.begun(1);
    const second = fixture.submit({ a: 1 }, key);
    assert.equal((await fixture.submit({ a: 2 }, key)).code, 'IDEMPOTENCY_MISMATCH');
    assert.equal((await fixture.submit({ a: 1 }, { ...key, timeout_secs: 9 })).code, 'IDEMPOTENCY_MISMATCH');
    fixture.tier.runs[0]!.succeed('once');
    const answers = await Promise.all([first, second]);
    answers.push(await fixture.submit({ a: 1 }, { ...key, mode: 'async' }));
    assert.deepEqual(new Set(answers.map(({ correlation_id }) => correlation_id)).size, 1);
    assert.deepEqual(
      answers.map(({ result }) => result),
      ['once', 'once', 'once'],
    );
    assert.equal(fixture.tier.runs.length, 1);
  });

  test('belongs to its client', async () => {
    await using fixture = await open({ tier: echoing() });
    const key = { idempotency_key: 'k' };
    const alice = await fixture.submit({}, key);
    const bob = await fixture.submit({}, key, { client: 'bob' });
    assert.notEqual(alice.correlation_id, bob.correlation_id);
  });

  test('does not run again after the outcome was acknowledged, until copies of the request have expired', async () => {
    const clock = new VirtualClock();
    await using fixture = await open({ tier: echoing(), clock });
    const key = { idempotency_key: 'k' };
    const { correlation_id = '' } = await fixture.submit({}, key);
    await fixture.call('ack', { correlation_ids: [correlation_id] });
    assert.equal((await fixture.submit({}, key)).code, 'NOT_FOUND');
    assert.equal(fixture.tier.runs.length, 1);
    await clock.advance(125_000);
    assert.equal((await fixture.submit({}, key)).status, 'success');
    assert.equal(fixture.tier.runs.length, 2);
  });
});

describe('cancel', () => {
  test('ends waiting and running tasks, and leaves completed ones unchanged', async () => {
    await using fixture = await open({ settings: { workerCount: 1 } });
    const first = await fixture.submit({}, { mode: 'async', idempotency_key: 'first' });
    const second = await fixture.submit({}, { mode: 'async' });
    await fixture.tier.begun(1);
    const canceled = await fixture.call('cancel', { correlation_id: second.correlation_id! });
    assert.deepEqual([canceled.code, canceled.correlation_id], ['CANCELED', second.correlation_id]);
    assert.equal((await fixture.call('cancel', { idempotency_key: 'first' })).code, 'CANCELED');
    const third = fixture.submit();
    await fixture.tier.begun(2);
    fixture.tier.runs[1]!.succeed(3);
    const { correlation_id = '' } = await third;
    assert.equal((await fixture.call('cancel', { correlation_id })).result, 3);
    assert.equal((await fixture.call('poll', { correlation_id: first.correlation_id! })).code, 'CANCELED');
    assert.deepEqual([fixture.tier.runs.length, fixture.events.held], [2, 0]);
  });

  test('ends a task whose code is being fetched', async () => {
    const pull = Promise.withResolvers<undefined>();
    await using fixture = await open({ events: { Echo: { pull: () => pull.promise } } });
    const { correlation_id = '' } = await fixture.submit({}, { mode: 'async' });
    assert.equal((await fixture.call('cancel', { correlation_id })).code, 'CANCELED');
    pull.resolve(undefined);
    await eventually(() => fixture.manager.health().queue_depth === 0, 'the queue slot is free again');
    assert.equal(fixture.tier.runs.length, 0);
  });
});

describe('the queue', () => {
  test('a client that floods the queue delays another by one task', async () => {
    await using fixture = await open({ settings: { workerCount: 1, maxPendingTasks: 100 } });
    const flood = Array.from({ length: 40 }, (_, n) => fixture.submit({ n }, { mode: 'async' }));
    await Promise.all(flood);
    await fixture.submit({ mine: true }, { mode: 'async' }, { client: 'bob' });
    await fixture.submit({ mine: true }, { mode: 'async' }, { client: 'bob' });
    for (let ended = 0; ended < 6; ended += 1) {
      await fixture.tier.begun(ended + 1);
      fixture.tier.runs[ended]!.succeed();
    }
    await fixture.tier.begun(6);
    const mine = fixture.tier.runs.map(({ args }) => (args as { mine?: boolean }).mine === true);
    assert.ok(mine.indexOf(true) <= 2, `the first came as ${mine.indexOf(true)}`);
    assert.equal(mine.slice(0, 6).filter(Boolean).length, 2);
  });

  test('full: QUEUE_FULL with a realistic retry delay; a new client gets a share', async () => {
    const clock = new VirtualClock();
    await using fixture = await open({ clock, settings: { workerCount: 2, maxPendingTasks: 10 } });
    const more = (call = {}): Promise<Payload> => fixture.submit({}, { mode: 'async' }, call);
    for (let taken = 0; taken < 12; taken += 1) {
      assert.notEqual((await more()).status, 'error');
      await eventually(() => fixture.manager.health().busy === Math.min(2, taken + 1), 'all workers are busy');
    }
    const refused = await more();
    assert.equal(refused.code, 'QUEUE_FULL');
    assert.ok(refused.retry_after_secs! >= 1 && refused.retry_after_secs! <= 60);
    // The new client is rejected once; from then on the queue is shared.
    assert.equal((await more({ client: 'bob' })).code, 'QUEUE_FULL');
    for (const run of [...fixture.tier.open]) run.succeed();
    await eventually(() => fixture.manager.health().queue_depth < 10, 'the queue drained');
    assert.equal((await more()).code, 'QUEUE_FULL');
    assert.equal((await more({ client: 'bob' })).status, 'pending');
  });

  test('the number of running tasks never exceeds the workers, and every slot is released', async () => {
    const tier = new OpenTier();
    tier.answer = () => new Promise((done) => setImmediate(done, { status: 'success', result: Buffer.from('1') }));
    await using fixture = await open({ tier, settings: { workerCount: 3, maxPendingTasks: 1_000 } });
    const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => fixture.submit({ n })));
    assert.ok(answers.every(({ status }) => status === 'success'));
    assert.equal(tier.mostAtOnce, 3);
    assert.deepEqual(
      [fixture.events.held, fixture.manager.health().queue_depth, fixture.manager.health().busy],
      [0, 0, 0],
    );
    assert.match(await fixture.metrics.registry.metrics(), /volnux_queue_depth\{protocol="tcp"\} 0/);
  });

  test('code that is fetched slowly delays no other task', async () => {
    const pull = Promise.withResolvers<undefined>();
    const tier = echoing();
    const events = { Echo: {}, Slow: { pull: () => pull.promise } };
    await using fixture = await open({ tier, events, settings: { workerCount: 1 } });
    const slow = [1, 2, 3].map((n) => fixture.submit({ n }, { event_name: 'Slow' }));
    assert.equal((await fixture.submit({}, {}, { client: 'bob' })).status, 'success');
    assert.equal((await fixture.submit()).status, 'success');
    pull.resolve(undefined);
    assert.deepEqual(
      (await Promise.all(slow)).map(({ status }) => status),
      ['success', 'success', 'success'],
    );
  });
});

describe('times', () => {
  test('a task gets the smallest limits of executor, event and caller', async () => {
    const events = { Echo: { timeout_secs: 20, memory_mb: 64 } };
    await using fixture = await open({ tier: echoing(), events, settings: { taskTimeoutSecs: 30, memoryMb: 100 } });
    await fixture.submit();
    await fixture.submit({}, { timeout_secs: 2.5 });
    const jobs = fixture.tier.runs.map(({ job: { timeout_ms, memory_mb } }) => [timeout_ms, memory_mb]);
    assert.deepEqual(jobs, [
      [20_000, 64],
      [2_500, 64],
    ]);
  });

  test('a task that waits beyond its deadline is not started', async () => {
    const clock = new VirtualClock();
    await using fixture = await open({ clock, settings: { workerCount: 1 } });
    await fixture.submit({}, { mode: 'async' });
    const late = fixture.submit({}, { deadline_ms: clock.now() + 5_000 });
    await fixture.tier.begun(1);
    await clock.advance(10_000);
    assert.equal((await late).code, 'TASK_TIMEOUT');
    fixture.tier.runs[0]!.succeed();
    assert.equal(fixture.tier.runs.length, 1);
  });

  test('a poll waits no longer than requested, and an outcome is kept for its retention', async () => {
    const clock = new VirtualClock();
    await using fixture = await open({ clock });
    const { correlation_id = '' } = await fixture.submit({}, { mode: 'async' });
    await fixture.tier.begun(1);
    const waits = fixture.call('poll', { correlation_id, wait_secs: 2 });
    await clock.advance(2_500);
    assert.equal((await waits).status, 'running');
    fixture.tier.runs[0]!.succeed();
    await fixture.call('poll', { correlation_id, wait_secs: 2 });
    await clock.advance(9 * 60_000);
    assert.equal((await fixture.call('poll', { correlation_id })).status, 'success');
    await clock.advance(62_000);
    assert.equal((await fixture.call('poll', { correlation_id })).code, 'NOT_FOUND');
  });
});

describe('a task that loses its process', () => {
  test('three times within an hour is rejected for an hour', async () => {
    const clock = new VirtualClock();
    const tier = new OpenTier();
    tier.answer = () => ({ status: 'error', code: 'WORKER_LOST', message: 'killed' });
    await using fixture = await open({ tier, clock });
    for (let n = 0; n < 3; n += 1) assert.equal((await fixture.submit({ poison: 1 })).code, 'WORKER_LOST');
    const refused = await fixture.submit({ poison: 1 });
    assert.deepEqual([refused.code, refused.retry_after_secs], ['QUARANTINED', 3600]);
    assert.equal((await fixture.submit({ poison: 2 })).code, 'WORKER_LOST');
    await clock.advance(3_601_000);
    assert.equal((await fixture.submit({ poison: 1 })).code, 'WORKER_LOST');
  });
});

describe('status, events and shutdown', () => {
  test("status lists the caller's own tasks, newest first", async () => {
    await using fixture = await open({ tier: echoing() });
    const mine = await fixture.submit();
    await fixture.submit({}, {}, { client: 'bob' });
    const { status, recent = [] } = await fixture.call('status', {});
    assert.equal(status, 'healthy');
    assert.deepEqual(
      recent.map(({ correlation_id }) => correlation_id),
      [mine.correlation_id],
    );
  });

  test('events lists what the caller may submit', async () => {
    await using fixture = await open({
      events: { Echo: {}, Ping: {}, Secret: {} },
      settings: { allowedEvents: ['Echo', 'Ping'] },
    });
    const { events = [] } = await fixture.call('events', {});
    assert.deepEqual(
      events.map(({ event_name }) => event_name),
      ['Echo', 'Ping'],
    );
    assert.equal((await fixture.call('event', { event_name: 'Secret' })).exists, false);
  });

  test('draining lets running tasks end, rejects new ones, and leaves waiting ones to the next start', async () => {
    const disk = new MemoryDisk();
    const fixture = await open({ files: disk, settings: { workerCount: 1 } });
    const runs = fixture.submit({ n: 1 });
    await fixture.tier.begun(1);
    const waits = fixture.submit({ n: 2 });
    await fixture.submit({ n: 3 }, { mode: 'async' });
    const drained = fixture.manager.drain(60_000);
    assert.equal((await fixture.submit({ n: 4 })).code, 'SHUTTING_DOWN');
    assert.equal(fixture.manager.health().status, 'draining');
    fixture.tier.runs[0]!.succeed('ended');
    await drained;
    assert.equal((await runs).result, 'ended');
    await fixture[Symbol.asyncDispose]();
    const pending = await waits;
    assert.equal(pending.status, 'pending');
    await using next = await open({ files: disk.afterDeath(), tier: echoing() });
    const { correlation_id = '' } = pending;
    assert.deepEqual((await next.call('poll', { correlation_id, wait_secs: 10 })).result, { n: 2 });
  });

  test('a poll over HTTP may name the task only in its path', async () => {
    await using fixture = await open({ tier: echoing() });
    const { correlation_id = '' } = await fixture.submit({ x: 1 });
    const atPath = (id: string) => ({
      change: (received: object) => ({ ...received, pathCorrelationId: id }) as never,
    });
    assert.equal((await fixture.call('poll', new Uint8Array(0), atPath(correlation_id))).status, 'success');
    assert.equal((await fixture.call('poll', { correlation_id }, atPath('other'))).code, 'MALFORMED');
  });
});
