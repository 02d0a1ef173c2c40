/** The settings of an executor by their short names in a file, and their defaults. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { stringify } from 'yaml';

import { RemoteExecutor } from '@heddle/executor/client';
import { loadConfiguration } from '../../../src/app/config.ts';
import { heddle, HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { endpointOf, EXAMPLE_EVENTS, ExecutorSite, type Ready } from '../../support/app/executor/executor-process.ts';

test('defaults are as documented', () => {
  const { values } = loadConfiguration({ flags: {}, environment: {}, workingDirectory: import.meta.dirname });
  const { executorWorkerCount, executorTaskTimeoutSecs, executorMaxPendingTasks } = values;
  assert.deepEqual([executorWorkerCount, executorTaskTimeoutSecs, executorMaxPendingTasks], [8, 300, 100]);
  const { executorSandboxMode, executorEphemeralTtlSecs, executorResponseTtlMinutes } = values;
  assert.deepEqual([executorSandboxMode, executorEphemeralTtlSecs, executorResponseTtlMinutes], [true, 120, 10]);
  assert.deepEqual(values.executorAllowedEvents, []);
  assert.deepEqual([values.executorAuditMaxMb, values.executorAuditKeepDays], [1024, 0]);
});

test('short names are read from YAML, events can be inline, --allow accumulates, and one listener is enough', async () => {
  const site = new ExecutorSite();
  const path = (name: string): string => join(site.path, name);
  const list = [{ name: 'WordCount', type: 'local', path: EXAMPLE_EVENTS, entry: 'word-count.ts' }];
  const settings = {
    secret_key: Buffer.alloc(32, 5).toString('base64url'),
    allowed_events: ['Other'],
    worker_count: 3,
    task_timeout: 4,
    max_pending_tasks: 7,
    sandbox_mode: false,
    ephemeral_ttl: 60,
    remote_events_config: list,
    response_ttl_minutes: 5,
    bind_address: '127.0.0.1:0',
  };
  writeFileSync(path('config.yaml'), stringify(settings), { mode: 0o600 });
  const none = { HEDDLE_EXECUTOR_XMLRPC_BIND: '-', HEDDLE_EXECUTOR_TCP_BIND: '-', HEDDLE_EXECUTOR_HTTP_BIND: '-' };
  try {
    const config = { HEDDLE_CONFIG: path('config.yaml') };
    site.run = new HeddleProcess(['executor', '--json', '--allow', 'WordCount', '--allow', 'Sum,Primes'], {
      ...config,
      ...none,
      HEDDLE_EXECUTOR_DATA: path('data'),
    });
    const ready = await site.run.event<Ready>('ready');
    const { tier, workers, events, allowed_events, listeners } = ready;
    assert.deepEqual(
      [tier, workers, events, allowed_events],
      ['process', 3, ['WordCount'], ['WordCount', 'Sum', 'Primes']],
    );
    assert.deepEqual(
      listeners.map(({ protocol }) => protocol),
      ['grpc'],
    );
    const made = await heddle(['keys', 'client', 'alice', '--out', path('alice.json')], config);
    assert.equal(made.code, 0, made.stderr);
    const client = new RemoteExecutor({ endpoints: [endpointOf(ready, 'grpc')], credentials: path('alice.json') });
    try {
      assert.deepEqual(await client.submit('WordCount', { text: 'a' }), { a: 1 });
      assert.equal((await client.status()).max_pending_tasks, 7);
      assert.equal((await client.events())[0]?.timeout_secs, 4);
    } finally {
      await client.close();
    }
  } finally {
    await site.dispose();
  }
});
