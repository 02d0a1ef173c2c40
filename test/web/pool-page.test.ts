/** The page of the pool in a real browser, against the real API over a pool in memory. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { Browser } from 'playwright-core';

import { PoolWorld } from '@heddle/test-support/http/pool-world';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { launchBrowser } from '../support/web/browser.ts';
import { eventually, PageDriver } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');
const MARKUP = '<img src=x onerror="window.__attacked=true">';
const MINUTE_MS = 60_000;

let browser: Browser;
let world: PoolWorld;
let server: TestServer;
let url: string;

before(async () => {
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  browser = await launchBrowser();
});

after(() => browser.close());

beforeEach(async () => {
  world = new PoolWorld();
  server = await createTestServer({ pool: world.pool, config: { pageDirectory: join(ROOT, 'web/dist') } });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  world.pool.start();
});

afterEach(async () => {
  await server.app.close();
  await world.pool.stop();
});

async function withPage(run: (driver: PageDriver) => Promise<void>): Promise<void> {
  const driver = await PageDriver.open(browser, url);
  try {
    await run(driver);
    assert.deepEqual(driver.complaints, []);
    assert.equal(await driver.page.evaluate('window.__attacked'), undefined);
  } finally {
    await driver.close();
  }
}

const hold = (resourceClass = 'large', count = 1, holder = 'a build') =>
  world.pool.hold(
    {
      ...{ resource_class: resourceClass, usage_class: 'on-demand', allowed_instance_types: ['a.*'] },
      ...{ cpu: null, memory_mib: null, count },
    },
    { id: null, holder, tenant: null, wait_ms: null },
  );

const runnerRow = (driver: PageDriver, text: string) =>
  driver.page.locator('.runner-table > tbody > tr:not(.row-more)').filter({ hasText: text });
const censusRow = (driver: PageDriver, resourceClass: string) =>
  driver.page.locator('.pool-census > tbody > tr').filter({ hasText: new RegExp(`^${resourceClass}`) });

test('without runners the page explains how to get some', () =>
  withPage(async (driver) => {
    await driver.goto('/');
    await driver.page.getByRole('link', { name: 'Runners' }).click();
    await driver.page.getByText('No runners', { exact: true }).waitFor();
    await driver.page.getByText('0 of at most 8 runners · provider fake · backend postgres').waitFor();
    await driver.page.getByRole('button', { name: 'Waiting requests' }).click();
    await driver.page.getByText('No waiting requests').waitFor();
  }));

test('runners and their counts are shown as they change', () =>
  withPage(async (driver) => {
    const [idle] = await world.arrive(1);
    await driver.goto('/pool');
    await runnerRow(driver, idle!).getByText('Idle', { exact: true }).waitFor();
    await runnerRow(driver, idle!)
      .getByText(/ends in .* unless it is claimed/)
      .waitFor();
    await censusRow(driver, 'large').waitFor();
    await hold();
    await runnerRow(driver, idle!).getByText('Claimed', { exact: true }).waitFor();
    await world.confirm(idle!);
    await runnerRow(driver, idle!).getByText('Running', { exact: true }).waitFor();
    const [spot] = await world.launch(1, 'xlarge', 'spot');
    await runnerRow(driver, spot!).getByText('Launching', { exact: true }).waitFor();
    await censusRow(driver, 'xlarge').getByText('spot').waitFor();
    await eventually('the census says that one runs', async () => {
      const counts = await censusRow(driver, 'large').locator('td.number').allInnerTexts();
      return counts.join() === '0,0,1,0,0' ? true : undefined;
    });
  }));

test('a state and a class are selected, and the URL keeps them', () =>
  withPage(async (driver) => {
    const [large] = await world.arrive(1);
    const [xlarge] = await world.arrive(1, 'xlarge');
    const [coming] = await world.launch(1, 'xlarge');
    await driver.goto('/pool');
    await driver.page.getByRole('button', { name: 'xlarge', exact: true }).click();
    await runnerRow(driver, large!).waitFor({ state: 'detached' });
    await driver.page.getByRole('group', { name: 'State' }).getByRole('button', { name: 'Idle' }).click();
    await runnerRow(driver, coming!).waitFor({ state: 'detached' });
    await runnerRow(driver, xlarge!).waitFor();
    await driver.page.reload();
    await runnerRow(driver, xlarge!).waitFor();
    assert.equal(await driver.page.locator('.runner-table > tbody > tr').count(), 1);
    await driver.page.getByRole('button', { name: 'Only xlarge' }).click();
    await runnerRow(driver, large!).waitFor();
  }));

test('a row opens the claim of a runner; it is released, drained and terminated from there', () =>
  withPage(async (driver) => {
    const [id] = await world.arrive();
    await hold('large', 1, `build ${MARKUP}`);
    await driver.goto('/pool');
    await runnerRow(driver, id!).getByRole('button').click();
    const details = driver.page.getByTestId('runner-details');
    await details.getByText(`build ${MARKUP}`).first().waitFor();
    await details.getByText('1 × large, on-demand, a.*').waitFor();
    await details.getByRole('button', { name: 'Release' }).click();
    await driver.page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click();
    await runnerRow(driver, id!).getByText('Idle', { exact: true }).waitFor();
    await hold();
    await runnerRow(driver, id!).getByText('Claimed', { exact: true }).waitFor();
    await details.getByRole('button', { name: 'Drain' }).click();
    await runnerRow(driver, id!).getByText('draining').waitFor();
    await details.getByRole('button', { name: 'Terminate' }).click();
    await driver.page.getByRole('dialog').getByRole('button', { name: 'Terminate', exact: true }).click();
    await runnerRow(driver, id!).waitFor({ state: 'detached' });
    await driver.page.getByRole('group', { name: 'State' }).getByRole('button', { name: 'Ended' }).click();
    await runnerRow(driver, id!).getByText('terminated by a user').waitFor();
  }));

test('requests show what they wait for, and a hold is released', () =>
  withPage(async (driver) => {
    world.provider.troubles.push('capacity', 'capacity', 'capacity', 'capacity');
    await hold('4xl', 2, `nightly ${MARKUP}`);
    const task = await world.askForTask('8xl');
    await driver.goto('/pool?view=waiting');
    const table = driver.page.locator('.request-table > tbody > tr');
    const held = table.filter({ hasText: 'nightly' });
    await held.getByText('2 × 4xl, on-demand, a.*').waitFor();
    await held.getByText(/No runner of the class is idle/).waitFor();
    await driver.page.getByText(/Launches of 4xl are held back/).waitFor();
    const { run } = await world.pool.request(task);
    assert.equal(await table.filter({ hasText: run }).getByRole('button').count(), 0);
    await held.getByRole('button', { name: 'Release' }).click();
    await driver.page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click();
    await held.waitFor({ state: 'detached' });
    world.provider.troubles.length = 0;
    await world.arrive();
    await hold('large', 1, 'by day');
    await driver.page.getByRole('button', { name: 'Granted requests' }).click();
    await table.filter({ hasText: 'by day' }).waitFor();
  }));

test('the last hours are drawn, of all classes or of one', () =>
  withPage(async (driver) => {
    await world.arrive(1);
    await world.arrive(1, 'xlarge');
    const counts = { usage_class: 'on-demand', created: 1, claimed: 0, running: 2, waiting: 7 };
    const at = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 30 * MINUTE_MS;
    world.samples = [
      { at, resource_class: 'large', ...counts, idle: 40 },
      { at, resource_class: 'xlarge', ...counts, idle: 2 },
    ];
    await driver.goto('/pool');
    const chart = driver.page.getByTestId('pool-history');
    const label = (most: number, waited: number) =>
      driver.page.getByRole('img', { name: `at most ${most} runners, at most ${waited} waiting` });
    await label(48, 14).waitFor();
    assert.equal(await chart.locator('polygon').count(), 4);
    await driver.page.getByRole('button', { name: 'xlarge', exact: true }).click();
    await label(5, 7).waitFor();
    const said = await chart.locator('title').allTextContents();
    assert.ok(
      said.some((text) => text.endsWith(': 1 launching, 2 idle, 0 claimed, 2 running; 7 waiting')),
      said.find((text) => text.includes('7 waiting')) ?? 'nothing',
    );
  }));
