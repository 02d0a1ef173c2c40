import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { eventually } from '../support/eventually.ts';
import { DataDirectory, request } from './heddle-process.ts';

const data = new DataDirectory();
after(() => data.dispose());

/** Webhooks that a killed process had under way are tried again after their lease, which is this and half a minute. */
const ENVIRONMENT = { HEDDLE_EXAMPLES: '1', HEDDLE_WEBHOOK_TIMEOUT_SECS: '2' };
const ENDED_DEADLINE_MS = 180_000;

interface ExampleEvent {
  event: 'example';
  batch_id: string;
}

test('the example that a kill cut short goes on with the next start, and is marked when it has ended', async () => {
  const first = data.up(ENVIRONMENT);
  const { url } = await first.ready();
  const { batch_id } = await first.event<ExampleEvent>('example');
  const path = `/v1/batches/${batch_id}`;
  const remaining = async (base: string): Promise<{ task_count: number; remaining: number }> =>
    (await request(base, 'GET', path)).json as { task_count: number; remaining: number };
  await eventually(async () => {
    const batch = await remaining(url);
    return batch.remaining < batch.task_count;
  }, 'the example is under way');
  assert.equal(await first.end('SIGKILL'), null);
  await data.gone();
  assert.equal(markedAs(data.path).finished, false);

  const second = data.up(ENVIRONMENT);
  const again = await second.ready();
  assert.equal((await second.event<ExampleEvent>('example')).batch_id, batch_id);
  await second.event('example_ended', ENDED_DEADLINE_MS);
  const { json } = await request(again.url, 'GET', path);
  const { task_count, by_status } = json as { task_count: number; by_status: Record<string, number> };
  assert.equal(by_status['Success'], task_count, JSON.stringify(by_status));
  assert.deepEqual(markedAs(data.path), { batch_id, finished: true });
  assert.equal(await second.end('SIGINT'), 0, second.stderr);
  await data.gone();
});

function markedAs(dataDir: string): { batch_id: string; finished: boolean } {
  return JSON.parse(readFileSync(join(dataDir, 'example.json'), 'utf8')) as { batch_id: string; finished: boolean };
}
