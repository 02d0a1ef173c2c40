import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import type { ClientTransport, Endpoint } from '../../src/client/port.ts';
import { TransportFailure } from '../../src/client/port.ts';
import { RemoteExecutor } from '../../src/client/remote-executor.ts';
import type { RemoteExecutorOptions } from '../../src/client/options.ts';
import { RemoteFailure } from '../../src/protocol/codes.ts';
import type { SignedRequest, SignedResponse } from '../../src/protocol/envelope.ts';
import { VirtualClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';
import { drive } from '../support/client/drive.ts';
import {
  CREDENTIALS,
  directTransport,
  MemoryExecutor,
  type Run,
} from '@heddle/test-support/executor/client/memory-executor';

interface Bench {
  clock: VirtualClock;
  executors: MemoryExecutor[];
  remote: RemoteExecutor;
  /** Ports of endpoints that reject connections. */
  down: Set<number>;
}

const url = (port: number): string => `tcp+plain://127.0.0.1:${port}`;

function bench(
  t: TestContext,
  {
    count = 1,
    run = () => 'done',
    skewMs = 0,
    wrap = (transport) => transport,
    ...options
  }: Partial<RemoteExecutorOptions> & {
    count?: number;
    run?: Run;
    skewMs?: number;
    wrap?: (transport: ClientTransport, executor: MemoryExecutor) => ClientTransport;
  } = {},
): Bench {
  const clock = new VirtualClock();
  const down = new Set<number>();
  const executors = Array.from({ length: count }, () => new MemoryExecutor({ clock, run, skewMs }));
  const open = (endpoint: Endpoint): ClientTransport => {
    const executor = executors[endpoint.port - 1]!;
    const direct = directTransport(executor, endpoint);
    const guarded: ClientTransport = {
      ...direct,
      call: async (request, callOptions) => {
        if (down.has(endpoint.port)) throw new TransportFailure('connection refused', false);
        return direct.call(request, callOptions);
      },
    };
    return wrap(guarded, executor);
  };
  const remote = new RemoteExecutor({
    endpoints: executors.map((_, index) => url(index + 1)),
    credentials: CREDENTIALS,
    healthIntervalMs: 0,
    clock,
    random: seededRandom(1),
    openTransport: open,
    ...options,
  });
  t.after(() => drive(clock, remote.close()));
  return { clock, executors, remote, down };
}

const failsWith = (code: string) => (error: unknown) => error instanceof RemoteFailure && error.code === code;

test('returns a result and acknowledges it', async (t) => {
  const { clock, executors, remote } = bench(t, { run: (event, args) => ({ event, ...args }) });
  const result = await drive(clock, remote.submit('Echo', { n: 1 }));
  assert.deepEqual(result, { event: 'Echo', n: 1 });
  await clock.advance(1000);
  assert.equal(executors[0]!.acknowledged.size, 1);
});

test('outcomes of many tasks are acknowledged in few calls', async (t) => {
  const { clock, executors, remote } = bench(t);
  await drive(clock, Promise.all(Array.from({ length: 500 }, () => remote.submit('Echo'))));
  await clock.advance(1000);
  assert.equal(executors[0]!.acknowledged.size, 500);
  const calls = executors[0]!.received.filter((method) => method === 'ack').length;
  assert.ok(calls <= 3, `${calls} calls`);
});

test('acknowledging later keeps the outcome for a minute', async (t) => {
  const { clock, executors, remote } = bench(t);
  await drive(clock, remote.submit('Echo', {}, { acknowledge: 'later' }));
  await clock.advance(50_000);
  assert.equal(executors[0]!.acknowledged.size, 0);
  await clock.advance(15_000);
  assert.equal(executors[0]!.acknowledged.size, 1);
});

test('a failed task rejects with its code, message and id', async (t) => {
  const run: Run = () => {
    throw new Error('no such bucket');
  };
  const { clock, remote } = bench(t, { run });
  await assert.rejects(drive(clock, remote.submit('Echo')), (error) => {
    assert.ok(error instanceof RemoteFailure && 'correlationId' in error);
    assert.deepEqual([error.code, error.message], ['EXECUTION_FAILED', 'no such bucket']);
    return typeof error.correlationId === 'string';
  });
});

test('tasks go to the endpoint with the fewest calls', async (t) => {
  const { clock, executors, remote } = bench(t, { count: 3, run: () => clock.sleep(5_000).then(() => 'done') });
  const all = Promise.all(Array.from({ length: 30 }, () => remote.submit('Echo')));
  await drive(clock, all);
  assert.deepEqual(
    executors.map(({ runs }) => runs.size),
    [10, 10, 10],
  );
});

test('a dead endpoint is avoided and used again once it recovers, without failed tasks', async (t) => {
  const { clock, executors, remote, down } = bench(t, { count: 2, healthIntervalMs: 1_000 });
  const submitMany = (): Promise<unknown> =>
    drive(clock, Promise.all(Array.from({ length: 10 }, () => remote.submit('Echo'))));
  down.add(1);
  await submitMany();
  assert.deepEqual([executors[0]!.runs.size, executors[1]!.runs.size], [0, 10]);
  assert.equal(remote.endpoints()[0]!.state, 'unreachable');
  assert.match(remote.endpoints()[0]!.last_error!.message, /connection refused/);
  down.delete(1);
  await clock.advance(10_000);
  assert.equal(remote.endpoints()[0]!.state, 'healthy');
  await submitMany();
  assert.deepEqual([executors[0]!.runs.size, executors[1]!.runs.size], [5, 15]);
});

test('a recovered endpoint is used again without health checks as well', async (t) => {
  const { clock, executors, remote, down } = bench(t, { count: 2 });
  down.add(1);
  for (let n = 0; n < 6; n += 1) await drive(clock, remote.submit('Echo'));
  down.delete(1);
  await clock.advance(5_000);
  for (let n = 0; n < 6; n += 1) await drive(clock, remote.submit('Echo'));
  assert.ok(executors[0]!.runs.size > 0);
});

test('a draining executor gets no new tasks while another one is available', async (t) => {
  const { clock, executors, remote } = bench(t, { count: 2 });
  executors[0]!.draining = true;
  await drive(clock, Promise.all(Array.from({ length: 8 }, () => remote.submit('Echo'))));
  assert.deepEqual([executors[0]!.runs.size, executors[1]!.runs.size], [0, 8]);
});

test('a rejection without effect moves the task to another endpoint; a final one does not', async (t) => {
  const { clock, executors, remote } = bench(t, { count: 2 });
  executors[0]!.refuses = new RemoteFailure('QUEUE_FULL', undefined, { retryAfterSecs: 20 });
  await drive(clock, Promise.all([remote.submit('Echo'), remote.submit('Echo')]));
  assert.equal(executors[1]!.runs.size, 2);
  executors[0]!.refuses = new RemoteFailure('FORBIDDEN');
  executors[1]!.refuses = new RemoteFailure('FORBIDDEN');
  await assert.rejects(drive(clock, remote.submit('Echo')), failsWith('FORBIDDEN'));
});

test('if no executor is reachable, the call fails within seconds, and nothing was received', async (t) => {
  const { clock, remote, down } = bench(t, { count: 2 });
  down.add(1).add(2);
  const began = clock.monotonic();
  const reported: string[] = [];
  await assert.rejects(
    drive(clock, remote.submit('Echo', {}, { onRetry: ({ error }) => reported.push((error as Error).message) })),
    (error) => error instanceof TransportFailure && !error.maybeReceived,
  );
  assert.ok(clock.monotonic() - began < 30_000);
  assert.ok(reported.length > 1, 'the caller is notified of retries');
  assert.deepEqual([...new Set(reported)], ['connection refused']);
});

test('a deadline ends the call and cancels the task', async (t) => {
  const { clock, executors, remote } = bench(t, { run: () => clock.sleep(600_000).then(() => 'late') });
  const began = clock.monotonic();
  const call = remote.submit('Echo', {}, { deadlineSecs: 20, idempotencyKey: 'slow' });
  await assert.rejects(drive(clock, call), failsWith('TASK_TIMEOUT'));
  assert.ok(clock.monotonic() - began <= 21_000);
  await clock.advance(1_000);
  assert.ok(executors[0]!.canceled.has('slow'));
});

test('an abort ends the call with its reason and cancels the task, in both modes', async (t) => {
  const { clock, executors, remote } = bench(t, { run: () => clock.sleep(600_000).then(() => 'late') });
  for (const onProgress of [undefined, () => undefined]) {
    const key = onProgress === undefined ? 'sync' : 'polled';
    const controller = new AbortController();
    const call = remote.submit(
      'Echo',
      {},
      {
        signal: controller.signal,
        idempotencyKey: key,
        ...(onProgress === undefined ? {} : { onProgress }),
      },
    );
    call.catch(() => undefined);
    await clock.advance(3_000);
    controller.abort(new Error('not wanted any more'));
    await assert.rejects(drive(clock, call), /not wanted any more/);
    await clock.advance(1_000);
    assert.ok(executors[0]!.canceled.has(key), key);
  }
});

test('an abort during an outage cancels the task once the executor is back', async (t) => {
  const { clock, executors, remote, down } = bench(t, { run: () => clock.sleep(600_000).then(() => 'late') });
  const controller = new AbortController();
  const call = remote.submit('Echo', {}, { signal: controller.signal, idempotencyKey: 'k' });
  call.catch(() => undefined);
  await clock.advance(1_000);
  down.add(1);
  controller.abort(new Error('enough'));
  await assert.rejects(drive(clock, call), /enough/);
  down.delete(1);
  await clock.advance(20_000);
  assert.ok(executors[0]!.canceled.has('k'));
});

test('the clock offset of an executor is learned from its responses', async (t) => {
  for (const skewMs of [-3_600_000, 0, 3_600_000]) {
    const { clock, executors, remote } = bench(t, { skewMs });
    assert.equal(await drive(clock, remote.submit('Echo')), 'done');
    const offset = remote.endpoints()[0]!.clock_offset_ms!;
    assert.ok(Math.abs(offset - skewMs) <= 1, `${offset}`);
    assert.equal(executors[0]!.runs.size, 1);
    await drive(clock, remote.submit('Echo'));
    assert.equal(executors[0]!.received.filter((method) => method === 'submit').length, 2);
  }
});

type Alter = (response: SignedResponse, request: SignedRequest) => SignedResponse;

const FORGERIES: Record<string, Alter> = {
  'a different MAC': (response) => ({ ...response, mac: new Uint8Array(32) }),
  'a truncated MAC': (response) => ({ ...response, mac: response.mac.subarray(0, 16) }),
  'no MAC on a success': (response) => ({ ...response, mac: new Uint8Array(0) }),
  'another nonce': (response) => ({ ...response, nonce: 'A'.repeat(22) }),
  'another correlation id': (response) => ({ ...response, correlation_id: crypto.randomUUID() }),
  'another method': (response) => ({ ...response, method: 'poll' }),
  'another client': (response) => ({ ...response, client: 'someone' }),
  'another payload': (response) => ({ ...response, payload: Buffer.from('{"status":"success"}') }),
  'the request itself as a response': (response, request) => ({
    ...response,
    mac: request.mac,
    payload: request.payload,
  }),
};

for (const [name, alter] of Object.entries(FORGERIES)) {
  test(`rejects a response with ${name}`, async (t) => {
    const wrap = (transport: ClientTransport): ClientTransport => ({
      ...transport,
      call: async (request, options) => alter(await transport.call(request, options), request),
    });
    const { clock, executors, remote } = bench(t, { wrap });
    await assert.rejects(drive(clock, remote.submit('Echo', {}, { idempotencyKey: 'k' })), /response rejected/);
    assert.equal(executors[0]!.runs.get('k'), 1);
  });
}

test('responses swapped between calls are rejected, and both calls succeed', async (t) => {
  const waiting: ((response: SignedResponse) => void)[] = [];
  let swaps = 1;
  const wrap = (transport: ClientTransport): ClientTransport => ({
    ...transport,
    call: async (request, options) => {
      const response = await transport.call(request, options);
      if (request.method !== 'submit' || swaps === 0) return response;
      const other = waiting.pop();
      if (other === undefined) return new Promise((resolve) => waiting.push(resolve));
      swaps -= 1;
      other(response);
      return new Promise<SignedResponse>((resolve) => waiting.push(resolve)).finally(() => undefined);
    },
  });
  const run: Run = (_event, { n }) => n!;
  const { clock, remote } = bench(t, { run, wrap });
  const first = remote.submit('Echo', { n: 1 });
  const second = remote.submit('Echo', { n: 2 });
  // The second call's response never arrives, so it is retried.
  assert.deepEqual(await drive(clock, Promise.all([first, second])), [1, 2]);
});

test('an unsigned error is reported but not trusted otherwise', async (t) => {
  const payload = Buffer.from(
    JSON.stringify({
      correlation_id: '',
      status: 'error',
      code: 'UNAUTHENTICATED',
      message: 'unknown key',
      timestamp: '',
    }),
  );
  const wrap = (transport: ClientTransport): ClientTransport => ({
    ...transport,
    call: async (request, options) => ({
      ...(await transport.call(request, options)),
      payload,
      correlation_id: '',
      mac: new Uint8Array(0),
    }),
  });
  const { clock, remote } = bench(t, { wrap });
  await assert.rejects(drive(clock, remote.submit('Echo')), failsWith('UNAUTHENTICATED'));
});

test('progress is polled if the protocol does not push it', async (t) => {
  const { clock, remote } = bench(t, { run: () => clock.sleep(5_000).then(() => 'done') });
  const reported: unknown[] = [];
  const result = await drive(clock, remote.submit('Echo', {}, { onProgress: (progress) => reported.push(progress) }));
  assert.equal(result, 'done');
  assert.deepEqual(reported[0], { fraction: 0.5, message: 'half' });
});

test('a submitted task can be polled, awaited and canceled by its handle or id', async (t) => {
  const { clock, remote } = bench(t, { count: 3, run: () => clock.sleep(10_000).then(() => 'done') });
  const task = await drive(clock, remote.submitAsync('Echo'));
  assert.equal((await drive(clock, task.poll())).status, 'running');
  assert.equal((await drive(clock, remote.poll({ correlationId: task.correlationId }))).status, 'running');
  assert.equal(await drive(clock, task.result()), 'done');
  await clock.advance(1_000);
  await assert.rejects(drive(clock, task.poll()), failsWith('NOT_FOUND'));
  const other = await drive(clock, remote.submitAsync('Echo'));
  assert.deepEqual(await drive(clock, remote.cancel({ idempotencyKey: other.idempotencyKey })), {
    state: 'canceled',
    correlationId: other.correlationId,
  });
  await assert.rejects(drive(clock, other.result()), failsWith('CANCELED'));
});

test('canceling a completed task returns its outcome', async (t) => {
  const { clock, remote } = bench(t);
  await drive(clock, remote.submit('Echo', {}, { idempotencyKey: 'k', acknowledge: 'never' }));
  const answer = await drive(clock, remote.cancel({ idempotencyKey: 'k' }));
  assert.equal(answer.state, 'succeeded');
  await assert.rejects(drive(clock, remote.cancel({ idempotencyKey: 'other' })), failsWith('NOT_FOUND'));
});

test('a task is not reported missing while an endpoint is unreachable', async (t) => {
  const { clock, remote, down } = bench(t, { count: 2 });
  down.add(2);
  await assert.rejects(
    drive(clock, remote.poll({ correlationId: crypto.randomUUID() })),
    (error) => error instanceof TransportFailure,
  );
});

test('events are listed by any endpoint that responds', async (t) => {
  const { clock, remote, down } = bench(t, { count: 2 });
  down.add(1);
  assert.equal(await drive(clock, remote.hasEvent('Echo')), true);
  assert.equal(await drive(clock, remote.hasEvent('echo')), false);
  assert.deepEqual(await drive(clock, remote.events()), []);
  assert.equal((await drive(clock, remote.status())).tier, 'process');
});

test('a changed client file is used; an invalid one leaves the previous credentials', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-client-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'client.json');
  const write = async (text: string): Promise<void> => {
    await writeFile(path, text);
    await chmod(path, 0o600);
  };
  const keysUsed: string[] = [];
  const wrap = (transport: ClientTransport): ClientTransport => ({
    ...transport,
    call: (request, options) => {
      keysUsed.push(request.key_id);
      return transport.call(request, options);
    },
  });
  await write(JSON.stringify(CREDENTIALS));
  const { clock, remote } = bench(t, { credentials: path, wrap });
  await driveFiles(clock, remote.hasEvent('Echo'));
  await write(JSON.stringify({ ...CREDENTIALS, keys: [{ ...CREDENTIALS.keys[0]!, id: 'k2' }] }));
  await clock.advance(3_000);
  await driveFiles(clock, remote.hasEvent('Echo'));
  await write('{');
  await clock.advance(3_000);
  await driveFiles(clock, remote.hasEvent('Echo'));
  assert.deepEqual(keysUsed, ['k1', 'k2', 'k2']);
});

test('invalid endpoints and credentials are rejected with the reason', () => {
  const make = (endpoints: string[], credentials: unknown = CREDENTIALS): RemoteExecutor =>
    new RemoteExecutor({ endpoints, credentials: credentials as typeof CREDENTIALS });
  assert.throws(() => make([]), /at least one/);
  assert.throws(() => make(['https://h:1']), /grpc:\/\/HOST:PORT/);
  assert.throws(() => make(['grpc://h']), /a host and a port/);
  assert.throws(() => make(['tcp+plain://10.0.0.1:5']), /on loopback only/);
  assert.throws(() => make(['tcp://u:p@h:5']), /must not have a user/);
  assert.throws(() => make(['tcp://h:5'], { ...CREDENTIALS, client: 'ü' }), /client: must be/);
});

/** Files are checked by the real clock. */
async function driveFiles<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  const answer = await work;
  await clock.advance(0);
  return answer;
}
