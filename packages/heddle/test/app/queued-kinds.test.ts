import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { loadConfiguration } from '../../src/app/config.ts';
import { HeddleClient } from '@heddle/client';
import { openQueue } from '@heddle/core/queue/open';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';

let server: Heddle;

before(async () => {
  server = await startHeddle({ flags: { HEDDLE_QUEUED_KINDS: 'stranger.scan, stranger.other' } });
});

after(() => server.stop());

test('a worker that only reads its queue and reports ends runs tasks of the configured kinds', async () => {
  const { database } = server;
  const { queue } = await openQueue({
    url: 'postgres',
    database,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  const client = new HeddleClient({ baseUrl: server.url });
  const { id, warnings } = await client.submitWorkflow({
    root: { mode: 'sequential', children: [{ kind: 'stranger.scan', input: { target: 'a' } }] },
  });
  assert.deepEqual(warnings, [], 'a kind that is announced is known');
  const [start] = await queue.receive('worker:stranger.scan', { max: 1, wait_ms: 20_000, visibility_ms: 60_000 });
  const { type, root_container_id, task } = JSON.parse(start!.body) as {
    type: string;
    root_container_id: string;
    task: { id: string; kind: string; input: unknown };
  };
  assert.deepEqual(
    [type, root_container_id, task.kind, task.input],
    ['StartTask', id, 'stranger.scan', { target: 'a' }],
  );
  const complete = { type: 'CompleteTask', task_id: task.id, state: 'Succeeded', root_container_id, data: { open: 1 } };
  await queue.send('manager', [{ body: JSON.stringify(complete) }]);
  await eventually(async () => (await client.getWorkflow(id)).state === 'Succeeded', 'the end of the workflow');
});

test('an invalid kind is rejected', () => {
  const environment = { HEDDLE_QUEUED_KINDS: `a,${'x'.repeat(101)}` };
  assert.throws(
    () => loadConfiguration({ flags: {}, environment, workingDirectory: import.meta.dirname }),
    /HEDDLE_QUEUED_KINDS/,
  );
});
