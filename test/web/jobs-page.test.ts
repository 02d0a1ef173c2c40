/** The page of jobs in a real browser, with canned responses. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/web/browser.ts';
import { FixtureJobApi, fixtureJob, fixtureRun } from '../support/web/fixture-jobs.ts';
import { FixtureServer } from '../support/web/fixture-server.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const server = new FixtureServer();
const api = new FixtureJobApi();
let browser: Browser;

before(async () => {
  execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/build-page.ts')], { stdio: 'inherit' });
  server.apis.push(api);
  await server.start();
  browser = await launchBrowser();
});

after(async () => {
  await browser.close();
  await server.stop();
});

beforeEach(() => {
  server.operations.length = 0;
  server.refusal = null;
  api.jobs.clear();
  const states = ['Succeeded', 'Failed', 'Skipped', ...Array.from({ length: 9 }, () => 'Succeeded')];
  const history = states.map((state, i) =>
    fixtureRun(1, i, state, state === 'Skipped' ? { reason: 'the previous run is unfinished' } : {}),
  );
  const next_run_at = '2099-07-14T00:30:00.000Z';
  const jobs = [
    fixtureJob(1, 'nightly-scan', { time_zone: 'Asia/Tokyo', next_run_at, history }),
    fixtureJob(2, 'odd-days', { cron: '0 0 13 * 5', recurrence: 0, next_run_at: null }),
    fixtureJob(3, 'broken', { paused: true, paused_reason: 'its workflow is not valid', next_run_at: null }),
  ];
  for (const job of jobs) api.jobs.set(job.id, job);
});

async function withPage(run: (driver: PageDriver) => Promise<void>): Promise<void> {
  const driver = await PageDriver.open(browser, server.url);
  try {
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

function row(driver: PageDriver, name: string) {
  return driver.page.locator('.job-table > tbody > tr').filter({ has: driver.page.getByRole('button', { name }) });
}

test('a job shows its schedule in words, its next run here and in its time zone, and the outcomes of its last runs', () =>
  withPage(async (driver) => {
    await driver.goto('/jobs');
    const scan = row(driver, 'nightly-scan').first();
    await scan.getByText('Every day at 02:30').waitFor();
    await scan.getByText('30 2 * * *').waitFor();
    await scan.getByText(/09:30 AM.* in Asia\/Tokyo/).waitFor();
    await scan.getByText('Succeeded').waitFor();
    const marks = await scan.getByRole('img').getAttribute('aria-label');
    assert.match(marks!, /^The last 8 runs, latest first: Succeeded, Failed, Skipped/);
    const odd = row(driver, 'odd-days').first();
    await odd.getByText('0 0 13 * 5').waitFor();
    await odd.getByText('used up').waitFor();
    await odd.getByText('never ran').waitFor();
    await row(driver, 'broken').getByText('its workflow is not valid').waitFor();
  }));

test('a row opens its next runs and its history, page by page, with links to the workflows', () =>
  withPage(async (driver) => {
    await driver.goto('/jobs');
    await driver.page.getByRole('button', { name: 'nightly-scan' }).click();
    const details = driver.page.getByTestId('job-details');
    assert.equal(await driver.page.getByRole('button', { name: 'nightly-scan' }).getAttribute('aria-expanded'), 'true');
    await details.locator('.next-runs li').nth(4).waitFor();
    await details.getByText('the previous run is unfinished').first().waitFor();
    const failed = details.getByRole('row').filter({ hasText: 'Failed' }).first();
    await failed.getByText('12').waitFor();
    await failed.getByText('1 m 35 s').waitFor();
    const link = await failed.getByRole('link').getAttribute('href');
    assert.match(link!, /^\/view\?workflow=01970000-ff01-/);
    assert.equal(await details.locator('.history-table tbody tr').count(), 10);
    await details.getByRole('button', { name: 'Older' }).click();
    await details.getByText('Page 2').waitFor();
    await driver.page.reload();
    await details.locator('.next-runs li').nth(4).waitFor();
  }));

test('pause, resume and run now work; running asks for confirmation, a rejection is shown', () =>
  withPage(async (driver) => {
    await driver.goto('/jobs?job=nightly-scan');
    const operations = driver.page.getByRole('group', { name: 'Operations on nightly-scan' });
    await operations.getByRole('button', { name: 'Pause' }).click();
    await row(driver, 'nightly-scan').getByText('paused', { exact: true }).first().waitFor();
    await driver.page.getByTestId('job-details').getByText('None while it is paused').waitFor();
    await operations.getByRole('button', { name: 'Resume' }).click();
    await operations.getByRole('button', { name: 'Pause' }).waitFor();
    server.refusal = { status: 409, error: 'The previous run is unfinished', details: ['overlap: is skip'] };
    await operations.getByRole('button', { name: 'Run now' }).click();
    await driver.button('Run job');
    await driver.page.getByRole('alert').getByText('The previous run is unfinished').waitFor();
    await operations.getByRole('button', { name: 'Run now' }).click();
    await driver.page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
    await operations.getByRole('button', { name: 'Run now' }).click();
    await driver.button('Run job');
    await driver.page.getByRole('link', { name: 'view workflow' }).waitFor();
    await driver.page.getByTestId('job-details').getByText('manual').waitFor();
    const base = `POST /v1/jobs/${[...api.jobs.keys()][0]!}`;
    assert.deepEqual(server.operations, [`${base}/pause`, `${base}/resume`, `${base}/trigger`, `${base}/trigger`]);
  }));

test('without jobs the page explains how to create one, and an unavailable server is reported', () =>
  withPage(async (driver) => {
    api.jobs.clear();
    await driver.ownClock();
    await driver.goto('/jobs');
    await driver.page.getByText('No jobs yet.').waitFor();
    await server.stop();
    await driver.passSeconds(3);
    await driver.page.getByText('The server is unreachable.').waitFor();
    await server.start();
    await driver.passSeconds(3);
    await driver.page.getByText('The server is unreachable.').waitFor({ state: 'detached' });
  }));
