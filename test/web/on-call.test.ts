/** What goes wrong at night: from Home, each cause and its remedy are at most three clicks away. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { DataDirectory, HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { Api } from '../support/web/api.ts';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const CLICKS_MAX = 3;

const data = DataDirectory.prepared();
let server: HeddleProcess;
let url: string;
let api: Api;
let browser: Browser;
let driver: PageDriver;
let page: Page;
let clicks: number;

before(async () => {
  browser = await launchBrowser();
  server = data.up({ WORKER_LEASE_SECS: '5', WORKER_LOOP_INTERVAL_MS: '200', HEDDLE_WEBHOOK_END_RETRY_SECS: '1' });
  ({ url } = await server.ready());
  api = new Api(url);
});

after(async () => {
  await browser.close();
  await server.end('SIGINT');
  await data.dispose();
});

beforeEach(async () => {
  driver = await PageDriver.open(browser, url);
  ({ page } = driver);
  clicks = 0;
});

afterEach(async () => {
  assert.deepEqual(driver.complaints, []);
  assert.ok(clicks <= CLICKS_MAX, `${clicks} clicks`);
  await driver.close();
});

async function click(target: Locator): Promise<void> {
  clicks += 1;
  await target.first().click();
}

function button(name: string): Locator {
  return page.getByRole('button', { name, exact: true });
}

async function attention(text: RegExp): Promise<Locator> {
  await driver.goto('/');
  const item = page.getByTestId('attention').getByRole('listitem').filter({ hasText: text });
  await item.first().waitFor();
  return item;
}

async function becomes(id: string, status: string): Promise<void> {
  await eventually(async () => (await api.statusOf(id)) === status, `the task is ${status}`, 60_000);
}

/** Starts a worker that has a kind whose tasks never end by themselves. */
async function startWorker(): Promise<HeddleProcess> {
  const module = join(import.meta.dirname, '../support/web/showcase/showcase-kinds.ts');
  const environment = { HEDDLE_DATA_DIR: join(data.path, 'none'), WORKER_LEASE_SECS: '5' };
  const worker = new HeddleProcess(['worker', '--url', url, '--module', module, '--json'], environment);
  await worker.ready();
  return worker;
}

describe('within three clicks of Home', { concurrency: false }, () => {
  test('a misspelled kind is named, with what was meant, and the task can be canceled', async () => {
    await api.post('/v1/workflows', {
      name: 'greetings',
      root: { mode: 'sequential', children: [{ id: 'greet', kind: 'Comand' }] },
    });
    const item = await attention(/no worker runs the kind "Comand"/);
    assert.match(await item.innerText(), /with the kind "Command"/);
    await click(item.getByRole('link'));
    const explain = page.getByTestId('explain');
    await explain
      .getByText(/Comand/)
      .first()
      .waitFor();
    await explain
      .getByText(/Command\b/)
      .first()
      .waitFor();
    await click(button('Cancel task'));
    await click(page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }));
    await page.getByText('Canceled').first().waitFor();
  });

  test('a worker that was killed is named, with the task that it lost; another one goes on', async () => {
    const worker = await startWorker();
    const [task] = await api.post<{ id: string }[]>('/task', [{ name: 'endless', kind: 'Endless' }]);
    await becomes(task!.id, 'Running');
    worker.child.kill('SIGKILL');
    await worker.exited;
    await becomes(task!.id, 'Pending');
    const item = await attention(/sent no more heartbeats/);
    await click(item.getByRole('link'));
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    const here = page.getByTestId('attention').getByRole('listitem').filter({ hasText: 'heartbeats' });
    assert.match(await here.innerText(), /start it again/);
    await click(here.getByRole('link'));
    await page.getByRole('heading', { name: 'endless' }).waitFor();
    await page.getByTestId('explain').getByText('as soon as a worker requests a task').waitFor();
    const next = await startWorker();
    await page.locator('.view-title, .view-lead').getByText('Running').first().waitFor();
    await api.send('DELETE', `/task/${task!.id}`);
    await next.end('SIGINT');
  });

  test('a target that does not answer is named with its error; what was abandoned is sent again', async () => {
    const received: string[] = [];
    const target = createServer((request, response) => {
      received.push(request.url!);
      response.end();
    });
    target.listen(0, '127.0.0.1');
    await once(target, 'listening');
    const { port } = target.address() as AddressInfo;
    target.close();
    const on_success = [
      { kind: 'Webhook', params: { url: `http://127.0.0.1:${port}/done`, verb: 'Post', body: {} }, max_tries: 1 },
    ];
    await api.post('/task', [{ name: 'bill', kind: 'bill', on_success }]);
    const { id, attempt } = await api.claimOne('bill');
    await api.post(`/v1/work/${id}/complete`, { attempt });
    const item = await attention(/abandoned.*(refused|ECONNREFUSED)/i);
    await click(item.getByRole('link'));
    const row = page.getByRole('row').filter({ hasText: 'bill' });
    await row
      .getByText(/refused/i)
      .first()
      .waitFor();
    target.listen(port, '127.0.0.1');
    await click(row.getByRole('button', { name: 'Replay' }));
    await eventually(() => received.includes('/done'), 'the target is called', 60_000);
    await row.waitFor({ state: 'detached' });
    target.close();
  });

  test('a rule that is full says who holds it; what a canceled task holds can be released', async () => {
    const rules = [
      { type: 'Concurrency', matcher: { kind: 'load', status: 'Running', fields: ['tenant'] }, max_concurrency: 1 },
    ];
    const [, second] = await api.post<{ id: string }[]>(
      '/task',
      ['first load', 'second load'].map((name) => ({ name, kind: 'load', metadata: { tenant: 7 }, rules })),
    );
    const first = await api.claimOne('load');
    await api.send('DELETE', `/task/${first.id}`);
    const item = await attention(/waits for a rule: 1 task of the kind "load" \(tenant 7\) may run at once/);
    await click(item.getByRole('link'));
    const row = page.getByRole('row').filter({ hasText: 'load' });
    await row.getByText('1 of 1, full').waitFor();
    await row.getByRole('link', { name: 'first load' }).waitFor();
    await row.getByRole('link', { name: 'second load' }).waitFor();
    await click(row.getByRole('button', { name: 'Release' }));
    await click(page.getByRole('dialog').getByRole('button', { name: 'Release' }));
    assert.equal((await api.claimOne('load')).id, second!.id);
  });

  test('a job that failed leads to its failed task, its log and its retry', async () => {
    await api.post('/v1/jobs', {
      name: 'nightly-import',
      cron: '0 3 * * *',
      workflow: {
        root: {
          mode: 'sequential',
          children: [
            { id: 'fetch', kind: 'fetch' },
            { id: 'load', kind: 'store' },
          ],
        },
      },
    });
    await api.post('/v1/jobs/nightly-import/trigger', {});
    const { id, attempt } = await api.claimOne('fetch');
    await api.post(`/v1/work/${id}/logs`, { attempt, first_line: 0, lines: [{ text: 'asking for orders' }] });
    await api.post(`/v1/work/${id}/fail`, { attempt, reason: 'HTTP 503 from orders.example.com' });
    const item = await attention(/The last run of the job "nightly-import" failed: fetch: HTTP 503/);
    await click(item.getByRole('link'));
    await page
      .getByText(/HTTP 503 from orders/)
      .first()
      .waitFor();
    await click(page.locator('.run-head').getByRole('link', { name: 'fetch' }));
    await page.getByText('asking for orders').first().waitFor();
    await click(button('Retry'));
    assert.equal((await api.claimOne('fetch')).id, id);
  });
});
