/** The pages of workflows and jobs against the real server, engine and manager on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import { MANAGER_QUEUE, newBench } from '@heddle/test-support/engine/manager/fixture';
import type { Bench } from '@heddle/test-support/engine/manager/fixture';
import { createTestServer } from '@heddle/test-support/http/server';
import type { TestServer } from '@heddle/test-support/http/server';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver, eventually } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');
const WIDE_COUNT = 20_000;

let bench: Bench;
let server: TestServer;
let browser: Browser;
let url: string;

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  bench = await newBench();
  const { engine, database, jobs } = bench;
  const config = { pageDirectory: join(ROOT, 'web/dist') };
  server = await createTestServer({ engine, database, runs: createRuns(database), jobs: createJobs(jobs), config });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(async () => {
  await browser.close();
  await server.app.close();
  await bench.engine.close();
});

async function post(path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, text.slice(0, 500));
  return JSON.parse(text) as Record<string, unknown>;
}

async function submit(name: string, root: unknown): Promise<string> {
  return (await post('/v1/workflows', { name, root }))['id'] as string;
}

/** Ends the ready tasks of a kind, each by its local name. */
async function work(kind: string, end: (name: string) => Outcome = () => 'succeeded'): Promise<string[]> {
  const claimed = await bench.engine.claim({ lanes: [`kind:${kind}`], limit: 100, holder: 'test' });
  await bench.engine.report(
    claimed.map(({ id, attempt, local_id }) => ({
      task_id: id,
      attempt,
      outcome: end(local_id!),
      reason: 'as the test would have it',
      result: { by: local_id },
    })),
  );
  return claimed.map(({ local_id }) => local_id!).sort();
}

/** Passes waiting messages to the manager. */
async function manage(): Promise<void> {
  const messages = await bench.queue.receive(MANAGER_QUEUE, { max: 100, wait_ms: 0, visibility_ms: 60_000 });
  await bench.manager.run(messages, Date.now());
  await bench.queue.delete(
    MANAGER_QUEUE,
    messages.map(({ receipt }) => receipt),
  );
}

async function withPage(run: (driver: PageDriver) => Promise<void>): Promise<void> {
  const driver = await PageDriver.open(browser, url);
  try {
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

function item(driver: PageDriver, name: string | RegExp) {
  return driver.page.getByRole('treeitem', { name });
}

test('a workflow is followed from its first task to a failure, and through a retry to the end', () =>
  withPage(async (driver) => {
    const id = await submit('fan out', {
      id: 'whole',
      mode: 'sequential',
      children: [
        { id: 'first', kind: 'followed', input: { from: 'here' } },
        {
          id: 'middle',
          mode: 'parallel',
          children: [
            { id: 'left', kind: 'followed', timeout_basis: 'start' },
            { id: 'right', kind: 'followed' },
          ],
        },
        { id: 'last', kind: 'followed' },
      ],
    });
    await driver.goto('/workflows');
    await driver.page.getByRole('link', { name: 'fan out' }).click();
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    await item(driver, /^last, Waiting/).click();
    await driver.page.getByTestId('explain').waitFor();
    assert.deepEqual(await work('followed'), ['first']);
    await item(driver, /^first, Succeeded/).click();
    await driver.page.getByTestId('details').getByText('without activity').waitFor();
    await driver.tab('Result');
    await driver.page.getByTestId('result').getByText('"by": "first"').waitFor();
    await driver.tab('Input');
    await driver.page.getByTestId('metadata').getByText('"from": "here"').waitFor();
    await driver.tab('Summary');
    assert.deepEqual(await work('followed', (name) => (name === 'left' ? 'failed' : 'succeeded')), ['left', 'right']);
    await item(driver, /^left, Failed/).click();
    await driver.page.getByTestId('details').getByText('as the test would have it').first().waitFor();
    await driver.page.getByTestId('details').getByText('from its start').waitFor();
    await item(driver, /^last, Skipped/).waitFor();
    await driver.page.getByTestId('signal').getByText('Finished').waitFor();
    await driver.page.locator('.run-head').getByRole('button', { name: 'Retry', exact: true }).click();
    await driver.button('Retry workflow');
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    assert.deepEqual(await work('followed'), ['left']);
    await item(driver, /^left, Succeeded/).waitFor();
    await eventually('the last one runs', async () => ((await work('followed')).includes('last') ? true : undefined));
    await item(driver, /^last, Succeeded/).waitFor();
    await driver.page.locator('.run-head').getByText('Succeeded').waitFor();
    await driver.page.locator('.run-head').getByText('4 of 4 tasks ended').waitFor();
    await driver.tab('Result');
    for (const name of ['first', 'left', 'right', 'last']) {
      await item(driver, new RegExp(`^${name}, Succeeded`)).click();
      await driver.page.getByTestId('result').getByText(`"by": "${name}"`).waitFor();
    }
    assert.equal(new URL(driver.page.url()).pathname, `/runs/${id}`);
  }));

test('pausing and canceling a workflow are seen at once', () =>
  withPage(async (driver) => {
    const children = Array.from({ length: 3 }, (_, i) => ({ id: `t${i}`, kind: 'held' }));
    const id = await submit('held', { mode: 'parallel', children });
    await driver.goto(`/runs/${id}`);
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    await driver.confirm('Pause', 'workflow');
    await item(driver, /^t0, Paused/).waitFor();
    assert.deepEqual(await work('held'), []);
    await driver.confirm('Resume', 'workflow');
    await item(driver, /^t0, Pending/).waitFor();
    await driver.confirm('Cancel', 'workflow');
    await driver.page.getByTestId('signal').getByText('Finished').waitFor();
    await driver.page.locator('.run-head').getByText('3 of 3 tasks ended').waitFor();
  }));

test('of a wide workflow the page loads a part, and further pages on demand', () =>
  withPage(async (driver) => {
    const children = Array.from({ length: WIDE_COUNT }, (_, i) => ({ id: `w${i + 1}`, kind: 'wide' }));
    const root = { mode: 'sequential', children: [{ id: 'wide', mode: 'parallel', children }] };
    const id = await submit('wide', root);
    await driver.goto(`/runs/${id}`);
    await driver.page.getByText('20,000 unfinished').first().waitFor();
    await driver.page.locator('.twisty').click();
    await driver.page.getByTestId('page-range').getByText('1–100 of 20,000').waitFor();
    await driver.button('Last page');
    await item(driver, /^w20000,/).waitFor();
    assert.equal(await driver.page.getByRole('treeitem').count(), 102);
    await driver.page.getByLabel('Find tasks by name, kind or ID').fill('w19876');
    await driver.page.locator('.task-list').getByRole('button', { name: 'w19876' }).click();
    await driver.page.getByTestId('task-name').getByText('w19876').waitFor();
  }));

test('a job is run now, its workflow is reachable, and its end is in the history', () =>
  withPage(async (driver) => {
    await post('/v1/jobs', {
      name: 'nightly',
      cron: '30 2 * * *',
      time_zone: 'Europe/Berlin',
      workflow: { name: 'of the night', root: { mode: 'sequential', children: [{ id: 'only', kind: 'nightly' }] } },
    });
    await driver.goto('/jobs');
    await driver.page.getByText('Every day at 02:30').waitFor();
    await driver.page.getByRole('link', { name: 'nightly' }).click();
    await driver.page.getByTestId('next-runs').locator('li').nth(4).waitFor();
    const history = driver.page.getByTestId('history');
    await history.getByText('No runs yet.').waitFor();
    await driver.button('Run now');
    await driver.page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
    const run = history.getByRole('row').filter({ hasText: 'Run now' });
    await run.getByText('Running').waitFor();
    await manage();
    assert.deepEqual(await work('nightly'), ['only']);
    await manage();
    await run.getByText('Succeeded').waitFor();
    await run.getByRole('link').click();
    await driver.page.getByRole('heading', { name: 'of the night' }).waitFor();
    await item(driver, /^only, Succeeded/).waitFor();
  }));
