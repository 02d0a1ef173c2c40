/** The page of executors in a real browser, against the real API. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { ExecutorEndpoint } from 'heddle/internal/http/ports';
import { createTestServer } from '@heddle/test-support/http/server';
import type { TestServer } from '@heddle/test-support/http/server';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');
const MARKUP = '<img src=x onerror="window.__attacked=true">';

let server: TestServer;
let browser: Browser;
let url: string;
let executors: readonly ExecutorEndpoint[] = [];

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  const config = { pageDirectory: join(ROOT, 'web/dist') };
  server = await createTestServer({ executors: { list: () => executors }, config });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(async () => {
  await browser.close();
  await server.app.close();
});

async function withPage(run: (driver: PageDriver) => Promise<void>): Promise<void> {
  const driver = await PageDriver.open(browser, url);
  try {
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

function endpoint(change: Partial<ExecutorEndpoint> = {}): ExecutorEndpoint {
  return {
    executor: 'default',
    endpoint: 'grpc://edge-1:50051',
    state: 'healthy',
    in_flight: 0,
    answered_at: Date.now(),
    last_error: null,
    clock_offset_ms: 0,
    status: {
      version: '0.1.0',
      tier: 'jail',
      workers: 8,
      busy: 3,
      queue_depth: 12,
      max_pending_tasks: 100,
      uptime_seconds: 60,
      recent: [
        task('c-1', { status: 'error', code: 'TASK_OOM', duration_ms: 1_200 }),
        task('c-2', { status: 'running' }),
        task('c-3', { event_name: MARKUP, status: 'success', duration_ms: 4 }),
      ],
    },
    ...change,
  };
}

function task(correlation_id: string, change: object) {
  return { correlation_id, event_name: 'Resize', status: 'success', created_at: new Date().toISOString(), ...change };
}

const row = (driver: PageDriver, text: string) =>
  driver.page.getByRole('table', { name: 'Executors' }).locator('tbody tr').filter({ hasText: text });

test('without executors the page explains how to configure some', () =>
  withPage(async (driver) => {
    executors = [];
    await driver.goto('/');
    await driver.page.getByRole('link', { name: 'Executors' }).click();
    await driver.page.getByText('No executors configured').waitFor();
    assert.equal(await driver.page.getByRole('link', { name: 'Executors' }).getAttribute('aria-current'), 'page');
  }));

test('each endpoint shows its health, tier, workers, queue and last error, and updates by itself', () =>
  withPage(async (driver) => {
    const away = { endpoint: 'tcp://edge-2:50053', executor: 'gpu', status: null, answered_at: null };
    const last_error = { at: Date.now(), message: `connection refused ${MARKUP}` };
    executors = [endpoint(), endpoint({ ...away, state: 'unreachable', last_error })];
    await driver.goto('/executors');
    const healthy = row(driver, 'edge-1');
    await healthy.getByText('Healthy').waitFor();
    await healthy.getByText('jail').waitFor();
    await healthy.getByRole('meter', { name: '3 of 8 workers are busy' }).waitFor();
    await healthy.getByText('12 of 100').waitFor();
    const unreachable = row(driver, 'edge-2');
    await unreachable.getByText('Unreachable').waitFor();
    await unreachable.getByText(/connection refused/).waitFor();
    await unreachable.getByText('gpu').waitFor();
    executors = [endpoint({ state: 'draining' })];
    await row(driver, 'edge-1').getByText('Draining').waitFor();
    await row(driver, 'edge-2').waitFor({ state: 'detached' });
  }));

test('the page of an executor has its limits and its recent tasks, each failure with the remedy', () =>
  withPage(async (driver) => {
    const { page } = driver;
    executors = [endpoint()];
    await driver.goto('/executors');
    await page.getByRole('link', { name: 'grpc://edge-1:50051' }).click();
    const tasks = page.getByTestId('recent-tasks');
    await tasks.getByText('TASK_OOM').waitFor();
    await tasks.getByText(/It exceeded its memory limit.*HEDDLE_EXECUTOR_MEMORY_MB/).waitFor();
    await tasks.getByText('1.2 s').waitFor();
    await tasks.getByText('running').waitFor();
    await tasks.getByText(MARKUP).waitFor();
    assert.equal(await tasks.locator('tbody tr').count(), 3);
    assert.equal(await page.evaluate('window.__attacked'), undefined);
    await page.getByTestId('executor-details').getByText('12 of at most 100 tasks wait').waitFor();
    assert.equal(await page.getByRole('note').count(), 0, 'nothing is wrong');
    await driver.goto('/executors?endpoint=grpc%3A%2F%2Fedge-1%3A50051');
    await page.waitForURL('**/executors/grpc%3A%2F%2Fedge-1%3A50051');
    await page.reload();
    await tasks.getByText('TASK_OOM').waitFor();
  }));

test('an executor says what is wrong with it and what to do, live, also on a phone', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await page.setViewportSize({ width: 390, height: 844 });
    executors = [endpoint({ state: 'degraded', clock_offset_ms: 90_000 })];
    await driver.goto('/executors/grpc%3A%2F%2Fedge-1%3A50051');
    const note = page.getByRole('note', { name: 'Problems' });
    await note.getByText(/\/healthz names the problem/).waitFor();
    await note.getByText(/Synchronize both/).waitFor();
    const full = { ...endpoint().status!, queue_depth: 100 };
    executors = [endpoint({ status: full })];
    await note.getByText(/HEDDLE_EXECUTOR_MAX_PENDING_TASKS/).waitFor();
    const last_error = { at: Date.now(), message: 'connection refused' };
    executors = [endpoint({ state: 'unreachable', last_error })];
    await note.getByText(/Check that heddle executor runs at grpc:\/\/edge-1:50051/).waitFor();
    await note.getByText(/connection refused/).waitFor();
    assert.equal(await driver.read('document.documentElement.scrollWidth <= innerWidth'), true);
    executors = [];
    await page.getByRole('heading', { name: 'No such executor' }).waitFor();
  }));
