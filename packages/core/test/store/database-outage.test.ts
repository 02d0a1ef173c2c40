import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { HeddleError } from '@heddle/base/errors';
import { CircuitBreaker } from '@heddle/base/breaker';
import { systemClock } from '@heddle/base/clock';
import type { Statement } from '../../src/store/database.ts';
import { eventually } from '@heddle/test-support/eventually';
import { openTestDatabase, startTestServer, type TestServer } from '@heddle/test-support/postgres';

const ONE: Statement = { name: 'one', text: 'select 1 as one' };
const WRONG: Statement = { name: 'wrong', text: 'select 1 / 0' };

let server: TestServer;
before(async () => (server = await startTestServer()));
after(() => server.stop());

function breaker(transitions: string[] = [], onRejection = (): void => undefined): CircuitBreaker {
  return new CircuitBreaker({
    enabled: true,
    failureThreshold: 3,
    failureWindowMs: 10_000,
    recoveryTimeoutMs: 0,
    successThreshold: 1,
    clock: systemClock,
    onTransition: (to) => transitions.push(to),
    onRejection,
  });
}

test('errors of statements do not open the breaker', async () => {
  const guard = breaker();
  const database = openTestDatabase(server.url, { breaker: guard });
  for (let n = 0; n < 10; n += 1) await assert.rejects(database.query(WRONG), { code: '22012' });
  assert.equal(guard.state, 'closed');
  await database.close();
});

test('an outage surfaces as DATABASE_UNAVAILABLE, opens the breaker, and ends by itself', async () => {
  const transitions: string[] = [];
  let refusals = 0;
  const guard = breaker(transitions, () => (refusals += 1));
  const database = openTestDatabase(server.url, { breaker: guard, minIdle: 2, acquireRetries: 1 });
  const heard: string[] = [];
  await database.listen('work', (payload) => heard.push(payload));
  await database.query(ONE);

  await server.halt();
  for (let n = 0; n < 5; n += 1) {
    await assert.rejects(database.query(ONE), (error: unknown) => {
      assert.ok(error instanceof HeddleError);
      assert.equal(error.code, 'DATABASE_UNAVAILABLE');
      assert.ok((error.retryAfterSecs ?? 0) >= 1);
      return true;
    });
  }
  assert.equal(guard.state, 'open');
  const before = refusals;
  await assert.rejects(database.ping(), { code: 'DATABASE_UNAVAILABLE' });
  assert.equal(refusals, before + 1, 'an open breaker refuses without a try');

  await server.start();
  await eventually(
    () =>
      database.ping().then(
        () => guard.state === 'closed',
        () => false,
      ),
    'the breaker closes',
  );
  assert.equal(transitions[0], 'open');
  assert.deepEqual(transitions.slice(-2), ['half_open', 'closed']);
  await eventually(() => heard.includes(''), 'the listener reconnects');
  await database.query({ name: 'notify', text: `select pg_notify('work', 'on')` });
  await eventually(() => heard.at(-1) === 'on', 'notifications arrive again');
  await eventually(() => database.stats().idle >= 2, 'the pool is warm again');
  await database.close();
});

test('getting a connection is retried while the server starts', async () => {
  const database = openTestDatabase(server.url, { acquireRetries: 50, acquireTimeoutMs: 20_000 });
  await server.halt();
  const answer = database.query(ONE);
  const [rows] = await Promise.all([answer, server.start()]);
  assert.deepEqual(rows, [{ one: 1 }]);
  await database.close();
});

test('what a retry cannot fix fails at once', async () => {
  const wrongPassword = server.url.replace(/:[^:@/]+@/, ':wrong@');
  const database = openTestDatabase(wrongPassword, { acquireRetries: 1_000_000, acquireTimeoutMs: 86_400_000 });
  await assert.rejects(database.query(ONE), (error: HeddleError) => {
    assert.equal(error.code, 'DATABASE_UNAVAILABLE');
    assert.match(String(error.cause), /password authentication failed/);
    return true;
  });
  await database.close();
});

test('closing during an outage ends at once', async () => {
  const database = openTestDatabase(server.url, { minIdle: 2 });
  await database.listen('work', () => undefined);
  await server.halt();
  await eventually(() => database.stats().size === 0, 'the connections are gone');
  await database.close();
  await server.start();
});
