import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import type { HomeDto } from 'heddle/internal/http/wire/home';
import type { WorkerDto } from 'heddle/internal/http/wire/places';
import { heddle, type Ran } from '../support/cli/run-command.ts';

let server: Heddle;

before(async () => {
  server = await startHeddle();
});

after(() => server.stop());

const on = (...args: string[]): Promise<Ran> => heddle([...args, '--url', server.url]);

test('status: what needs attention, with its remedy; workers; queues', async () => {
  const response = await fetch(`${server.url}/task`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([{ name: 'forgotten', kind: 'nobody.runs.this' }]),
  });
  assert.equal(response.status, 201);
  const home = await eventually(async () => {
    const answer = (await on('status', '--json')).json() as HomeDto;
    return answer.attention.length > 0 ? answer : undefined;
  }, 'the task without a worker is reported');
  assert.deepEqual([home.attention[0]!.type, home.attention[0]!.kind], ['no_worker', 'nobody.runs.this']);

  const shown = await on('status');
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^1 open runs; tasks: 0 running, 1 ready/);
  assert.match(shown.stdout, /error: 1 task waits, and no worker runs the kind "nobody\.runs\.this"/);
  assert.match(shown.stdout, /Start a worker for the kind "nobody\.runs\.this"/);

  // The server registers once its kinds run.
  const worker = await eventually(async () => {
    const workers = (await on('status', 'workers', '--json')).json() as WorkerDto[];
    return workers.find(({ type, kinds }) => type === 'server' && kinds.length > 0);
  }, 'the server is listed');
  assert.equal(worker.state, 'live');
  assert.match((await on('status', 'workers')).stdout, /WORKER +TYPE +STATE/);
  assert.match((await on('status', 'queues')).stdout, /nobody\.runs\.this +kind +1 /);
  assert.equal((await on('status', 'elsewhere')).code, 2);
});
