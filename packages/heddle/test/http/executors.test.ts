import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import type { ExecutorEndpoint } from '../../src/http/ports.ts';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';

const AT = Date.UTC(2026, 0, 31, 8);

const HEALTHY: ExecutorEndpoint = {
  executor: 'gpu',
  endpoint: 'grpc://gpu-1:50051',
  state: 'healthy',
  in_flight: 2,
  answered_at: AT,
  last_error: null,
  clock_offset_ms: -12,
  status: {
    version: '0.1.0',
    tier: 'jail',
    workers: 8,
    busy: 3,
    queue_depth: 4,
    max_pending_tasks: 100,
    uptime_seconds: 60,
    recent: [
      {
        correlation_id: 'c1',
        event_name: 'Echo',
        status: 'error',
        code: 'TASK_OOM',
        created_at: '2026-01-31T08:00:00Z',
        duration_ms: 5,
      },
      { correlation_id: 'c2', event_name: 'Echo', status: 'running', created_at: '2026-01-31T08:00:01Z' },
    ],
  },
};
const AWAY: ExecutorEndpoint = {
  executor: 'default',
  endpoint: 'tcp://edge:50053',
  state: 'unreachable',
  in_flight: 0,
  answered_at: null,
  last_error: { at: AT, message: 'connection refused' },
  clock_offset_ms: null,
  status: null,
};

let server: TestServer;
let executors: readonly ExecutorEndpoint[] = [];

before(async () => {
  server = await createTestServer({ executors: { list: () => executors } });
});

after(() => server.app.close());

test('returns the status and the problems of each executor', async () => {
  executors = [{ ...HEALTHY, status: { ...HEALTHY.status!, ...{ secret: 'x' } } }, AWAY];
  const response = await server.app.inject('/v1/executors');
  assert.equal(response.statusCode, 200);
  const [healthy, away] = response.json<Record<string, unknown>[]>();
  assert.deepEqual(healthy, {
    ...HEALTHY,
    answered_at: '2026-01-31T08:00:00.000Z',
    status: {
      ...HEALTHY.status,
      recent: [
        { ...HEALTHY.status!.recent[0], code: 'TASK_OOM' },
        { ...HEALTHY.status!.recent[1], code: null, duration_ms: null },
      ],
    },
  });
  assert.deepEqual(away, { ...AWAY, last_error: { at: '2026-01-31T08:00:00.000Z', message: 'connection refused' } });
});

test('without executors the list is empty; unknown parameters are rejected', async () => {
  executors = [];
  assert.deepEqual((await server.app.inject('/v1/executors')).json(), []);
  assert.equal((await server.app.inject('/v1/executors?page=1')).statusCode, 400);
});

test('the client reads them', async () => {
  executors = [AWAY];
  const client = new HeddleClient({
    baseUrl: 'http://heddle.test',
    fetch: async (input) => {
      const { pathname } = new URL(input);
      const { statusCode, body } = await server.app.inject(pathname);
      return new Response(body, { status: statusCode });
    },
  });
  const [executor] = await client.executors.list();
  assert.equal(executor!.last_error?.message, 'connection refused');
});
