/** Views name tasks, not ids, and say why runs failed: on a real server with a pool of runners. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ConsoleBench, until } from '../support/web/console-bench.ts';

let bench: ConsoleBench;

before(async () => {
  bench = await ConsoleBench.start({ flags: { HEDDLE_POOL_MAX_RUNNERS: '1' } });
});

after(() => bench.stop());

interface PoolRequest {
  id: string;
  source: string;
  run: string;
  task_name: string | null;
}

test('a request for runners names its task, or its holder', () =>
  bench.withPage(async (page, driver) => {
    const requirements = { resource_class: 'large' };
    const hold = { requirements, holder: 'a build', wait_secs: 60 };
    const held = await bench.send<PoolRequest & { runners: { id: string }[] }>('POST', '/v1/pool/requests', hold);
    assert.deepEqual([held.source, held.run, held.task_name], ['holder', 'a build', null]);
    // The only runner is held: the request of the task waits.
    const [task] = await bench.submit([{ name: 'train the model', kind: 'Command', requirements }], 'training');
    const waiting = () => bench.send<PoolRequest[]>('GET', '/v1/pool/requests?state=waiting');
    await until('the task asks for a runner', async () => (await waiting()).length > 0);
    const [request] = await waiting();
    assert.deepEqual([request!.source, request!.run, request!.task_name], ['task', task!.id, 'train the model']);
    await driver.goto('/pool?view=waiting');
    await page.getByRole('table', { name: 'Waiting requests' }).getByRole('link', { name: 'train the model' }).click();
    await page.waitForURL(`**/tasks/${task!.id}`);
    await driver.goto(`/pool/${held.runners[0]!.id}`);
    await page.getByTestId('runner-request').getByText('a build').first().waitFor();
  }));

test('the page of a job says which task failed and why, in the note and in the history', () =>
  bench.withPage(async (page, driver) => {
    const root = { mode: 'sequential', children: [{ id: 'load', name: 'load', kind: 'names-load' }] };
    await bench.send('POST', '/v1/jobs', { name: 'nightly', cron: '0 3 * * *', workflow: { root } });
    await bench.send('POST', '/v1/jobs/nightly/trigger', {});
    interface JobRun {
      state: string;
      reason: string | null;
    }
    const runs = () => bench.send<JobRun[]>('GET', '/v1/jobs/nightly/history');
    await until('the run has failed', async () => {
      await bench.failAll('names-load', 'HTTP 503 from orders.example.com');
      return (await runs())[0]?.state === 'Failed';
    });
    assert.equal((await runs())[0]!.reason, 'load: HTTP 503 from orders.example.com');
    await driver.goto('/schedules/nightly');
    await page.getByRole('note').getByText('load: HTTP 503 from orders.example.com').waitFor();
    await page.getByTestId('history').getByText('load: HTTP 503 from orders.example.com').waitFor();
  }));
