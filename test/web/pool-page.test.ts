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
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
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

const rowsOf = (driver: PageDriver, table: string) =>
  driver.page.getByRole('table', { name: table }).locator('tbody tr');
const runnerRow = (driver: PageDriver, id: string) =>
  driver.page.getByRole('table', { name: 'Runners', exact: true }).locator(`tbody tr[data-id="${id}"]`);
const censusRow = (driver: PageDriver, resourceClass: string) =>
  rowsOf(driver, 'Runners by class').filter({ hasText: new RegExp(`^${resourceClass}`) });

test('without runners the page explains how to get some', () =>
  withPage(async (driver) => {
    await driver.goto('/');
    await driver.page.getByRole('link', { name: 'Runners' }).click();
    await driver.page.getByText('No runners', { exact: true }).waitFor();
    await driver.page.getByText('0 of at most 8 runners').waitFor();
    await driver.page.getByText('launched by fake, found by postgres').waitFor();
    await driver.page.getByRole('tab', { name: 'Waiting requests' }).click();
    await driver.page.getByText('No waiting requests').waitFor();
  }));

test('runners and their counts are shown as they change', () =>
  withPage(async (driver) => {
    const [idle] = await world.arrive(1);
    await driver.goto('/pool');
    await runnerRow(driver, idle!).getByText('Idle', { exact: true }).waitFor();
    await runnerRow(driver, idle!)
      .getByText(/waits for a task; ends in .* unless it is claimed/)
      .waitFor();
    await censusRow(driver, 'large').waitFor();
    await hold();
    await runnerRow(driver, idle!).getByText('Claimed', { exact: true }).waitFor();
    await runnerRow(driver, idle!).getByText('held by a build').waitFor();
    await world.confirm(idle!);
    await runnerRow(driver, idle!).getByText('Running', { exact: true }).waitFor();
    const [spot] = await world.launch(1, 'xlarge', 'spot');
    await runnerRow(driver, spot!).getByText('Launching', { exact: true }).waitFor();
    await censusRow(driver, 'xlarge').getByText('spot').waitFor();
    await eventually('the census says that one runs', async () => {
      const counts = await censusRow(driver, 'large').locator('td.number').allInnerTexts();
      return counts.join() === '1,0,0,0,0' ? true : undefined;
    });
    await driver.page.getByRole('img', { name: 'Capacity: 1 running, 1 launching, 6 more possible' }).waitFor();
  }));

test('a state and a class are selected, and the URL keeps them', () =>
  withPage(async (driver) => {
    const [large] = await world.arrive(1);
    const [xlarge] = await world.arrive(1, 'xlarge');
    const [coming] = await world.launch(1, 'xlarge');
    await driver.goto('/pool');
    await driver.page.getByRole('button', { name: 'xlarge', exact: true }).click();
    await runnerRow(driver, large!).waitFor({ state: 'detached' });
    await driver.page.getByRole('combobox', { name: 'State' }).selectOption('Idle');
    await runnerRow(driver, coming!).waitFor({ state: 'detached' });
    await runnerRow(driver, xlarge!).waitFor();
    await driver.page.waitForURL('**/pool?class=xlarge&state=idle');
    await driver.page.reload();
    await runnerRow(driver, xlarge!).waitFor();
    assert.equal(await driver.page.getByRole('table', { name: 'Runners', exact: true }).locator('tbody tr').count(), 1);
    await driver.page.getByRole('button', { name: 'Only xlarge' }).click();
    await runnerRow(driver, large!).waitFor();
  }));

test('the page of a runner has its claim; it is released, drained and terminated from there', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const [id] = await world.arrive();
    await hold('large', 1, `build ${MARKUP}`);
    await driver.goto('/pool');
    await runnerRow(driver, id!).getByRole('link').click();
    await page.waitForURL(`**/pool/${id}`);
    const request = page.getByTestId('runner-request');
    await request.getByText(`build ${MARKUP}`).first().waitFor();
    await request.getByText('1 × large, on-demand, a.*').waitFor();
    await page.getByTestId('runner-details').getByText('0 of 1 claims').waitFor();
    await driver.button('Release');
    await page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click();
    await page.getByText('Idle', { exact: true }).waitFor();
    await request.waitFor({ state: 'detached' });
    await hold();
    await page.getByText('Claimed', { exact: true }).waitFor();
    await driver.button('Drain');
    await page.getByText('draining').waitFor();
    await driver.button('Terminate');
    await page.getByRole('dialog').getByRole('button', { name: 'Terminate', exact: true }).click();
    await page.getByText('terminated by a user').first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Drain' }).count(), 0);
    await driver.goto('/pool?state=terminated');
    await runnerRow(driver, id!).getByText('terminated by a user').waitFor();
    await driver.goto(`/pool?runner=${id}`);
    await page.waitForURL(`**/pool/${id}`);
  }));

test('requests show what they wait for, and a hold is released', () =>
  withPage(async (driver) => {
    const { page } = driver;
    world.provider.troubles.push('capacity', 'capacity', 'capacity', 'capacity');
    await hold('4xl', 2, `nightly ${MARKUP}`);
    const task = await world.askForTask('8xl');
    await driver.goto('/pool?view=waiting');
    const rows = rowsOf(driver, 'Waiting requests');
    const held = rows.filter({ hasText: 'nightly' });
    await held.getByText('2 × 4xl, on-demand, a.*').waitFor();
    await held.getByText(/No runner of the class is idle/).waitFor();
    await page.getByText(/Launches of 4xl are held back/).waitFor();
    const { run } = await world.pool.request(task);
    const asked = rows.filter({ hasText: run.slice(0, 13) });
    assert.equal(await asked.getByRole('button').count(), 0);
    assert.equal(await asked.getByRole('link').getAttribute('href'), `/tasks/${run}`);
    await held.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click();
    await held.waitFor({ state: 'detached' });
    world.provider.troubles.length = 0;
    await world.arrive();
    await hold('large', 1, 'by day');
    await page.getByRole('tab', { name: 'Granted requests' }).click();
    await page.waitForURL('**/pool?view=granted');
    await rowsOf(driver, 'Granted requests').filter({ hasText: 'by day' }).waitFor();
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
    await chart
      .getByText(/Running: latest 0, highest 4; .*Idle: latest 0, highest 42; .*Waited for: .*highest 14$/)
      .waitFor();
    assert.equal(await chart.locator('canvas').count(), 1);
    await driver.page.getByRole('button', { name: 'xlarge', exact: true }).click();
    await chart
      .getByText(/Running: latest 0, highest 2; .*Idle: latest 0, highest 2; .*Waited for: .*highest 7$/)
      .waitFor();
    await chart.getByText('Runners of xlarge, the last 3 hours').waitFor();
  }));

test('without rights to operate there is nothing to release, and the pages fit a phone', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await page.setViewportSize({ width: 390, height: 844 });
    const user = { name: 'vera', role: 'viewer', scopes: ['read'], session_id: null };
    await page.route('**/v1/session', (route) =>
      route.fulfill({ json: { authentication: 'required', user, logins: { token: true, oidc: null } } }),
    );
    const [id] = await world.arrive();
    await hold('large', 1, 'a build');
    await driver.goto('/pool?view=granted');
    await rowsOf(driver, 'Granted requests').filter({ hasText: 'a build' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Release' }).count(), 0);
    assert.equal(await driver.read('document.getElementById("scroller").scrollWidth <= innerWidth'), true);
    await driver.goto(`/pool/${id}`);
    await page.getByTestId('runner-request').getByText('a build').first().waitFor();
    for (const name of ['Release', 'Drain', 'Terminate']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    }
    assert.equal(await driver.read('document.getElementById("scroller").scrollWidth <= innerWidth'), true);
  }));
