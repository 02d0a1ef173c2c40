/** The console's Home, runs and tasks, with data made through the API of a real server. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { markPresent } from '@heddle/core/internal/store/overview/workers';
import { startHeddle } from '@heddle/test-support/cli/heddle';
import type { Heddle } from '@heddle/test-support/cli/heddle';
import { Api } from '../support/web/api.ts';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');

let heddle: Heddle;
let api: Api;
let browser: Browser;

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  heddle = await startHeddle();
  api = new Api(heddle.url);
});

after(async () => {
  await browser.close();
  await heddle.stop();
});

interface Submitted {
  id: string;
  batch_id: string;
}

async function withPage(run: (driver: PageDriver) => Promise<void>, width = 1400): Promise<void> {
  const driver = await PageDriver.open(browser, heddle.url);
  try {
    await driver.page.setViewportSize({ width, height: 850 });
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

test('Home groups failures by reason, and leads to each task, its log and its retry', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await api.post('/task', [
      { name: 'load orders', kind: 'load' },
      { name: 'load customers', kind: 'load' },
    ]);
    await api.failAll('load', 'connect ECONNREFUSED 10.0.0.12:5432');
    await driver.goto('/');
    const failing = page.getByTestId('failing');
    await failing.getByRole('link', { name: /ECONNREFUSED/ }).click();
    await page.getByRole('heading', { name: /ECONNREFUSED/ }).waitFor();
    const failed = page.getByRole('table', { name: 'Failed tasks' });
    await failed.getByRole('link', { name: 'load customers' }).waitFor();
    assert.equal(await failed.locator('tbody tr').count(), 2);
    await page.getByRole('link', { name: 'load orders' }).click();
    await page.getByRole('note', { name: 'Reason' }).getByText('ECONNREFUSED').waitFor();
    await page.getByTestId('log').getByText('about to fail').waitFor();
    await page.getByRole('tab', { name: 'Attempts' }).click();
    await page.getByRole('table', { name: 'Attempts' }).getByText('failed').waitFor();
    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByRole('log').getByText('about to fail').waitFor();
    await driver.button('Retry');
    await page.getByText('Queued for another attempt').waitFor();
  }));

test('a task of a misspelled kind needs attention, with its cause and remedy two clicks from Home', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await api.post('/task', [{ name: 'greet the world', kind: 'Comand' }]);
    await driver.goto('/');
    await page
      .getByTestId('attention')
      .getByRole('link', { name: /Comand/ })
      .first()
      .click();
    await page
      .getByTestId('explain')
      .getByText(/Comand/)
      .first()
      .waitFor();
  }));

test('runs are one list with a state on each row, filters in the address, and a graph behind each', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const [first] = await api.post<Submitted[]>('/task', [
      { name: 'half', kind: 'half' },
      { name: 'other half', kind: 'other' },
    ]);
    await api.failAll('half', 'out of paper');
    await driver.goto('/runs');
    const row = page.getByRole('row').filter({ hasText: 'out of paper' });
    await row.getByRole('link', { name: 'half', exact: true }).waitFor();
    await page.getByRole('combobox', { name: /^State/ }).selectOption('failing');
    await page.waitForURL('**/runs?state=failing');
    await page.reload();
    await row.getByRole('img', { name: /1 failed/ }).waitFor();
    await driver.goto(`/runs/${first!.batch_id}`);
    await driver.drawn();
    await driver.button('Timeline');
    await page.getByRole('list', { name: 'Timeline' }).getByText('other half').waitFor();
    await driver.button('Tasks');
    await page.getByRole('table', { name: 'Tasks' }).getByRole('link', { name: 'half', exact: true }).waitFor();
  }));

test('the console works by keyboard alone: skip link, places, search, rows, help', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await api.post('/task', [{ name: 'found by search', kind: 'search' }]);
    await driver.goto('/');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.locator(':focus').innerText(), 'Skip to content');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('table', { name: 'Runs' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/runs/*');
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Search or go to').fill('found by');
    await page.getByText('found by search').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'found by search' }).waitFor();
  }));

test('a narrow window has a menu with all places, and rows with the names of their cells', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await api.post('/task', [{ name: 'on a phone', kind: 'phone' }]);
    await driver.goto('/');
    await driver.button('Menu');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    const cell = page.locator('td[data-label="Created"]').first();
    await cell.waitFor();
    assert.match(
      await driver.read<string>(
        `getComputedStyle(document.querySelector('td[data-label="Created"]'), '::before').content`,
      ),
      /Created/,
    );
    const overflow = await driver.read<number>('document.documentElement.scrollWidth - innerWidth');
    assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than the window`);
  }, 390));

test('an address that nothing has shows a page, with status 404; programs get JSON', async () => {
  const asPerson = await fetch(`${heddle.url}/nowhere`, { headers: { accept: 'text/html,*/*' } });
  assert.equal(asPerson.status, 404);
  assert.match(asPerson.headers.get('content-type')!, /^text\/html/);
  const asProgram = await fetch(`${heddle.url}/nowhere`);
  assert.equal(asProgram.status, 404);
  assert.match(asProgram.headers.get('content-type')!, /json/);
  await withPage(async (driver) => {
    await driver.goto('/nowhere');
    await driver.page.getByRole('heading', { name: 'Page not found' }).waitFor();
  });
});

test('every place of the navigation has a view', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await api.post('/task', [{ name: 'limited', kind: 'limited' }]);
    await driver.goto('/');
    const places = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
    await places.nth(12).waitFor();
    const names = await places.allInnerTexts();
    for (const name of names) {
      await places.filter({ hasText: name }).first().click();
      await page.locator('h1').first().waitFor();
      assert.notEqual(await page.locator('h1').first().innerText(), 'Page not found', name);
    }
    await driver.goto('/workers');
    await page.getByRole('table', { name: 'Workers' }).getByText('Server').waitFor();
    await driver.goto('/audit');
    await page.getByRole('table', { name: 'Audit log' }).getByText('POST /task').first().waitFor();
  }));

test('a worker that reads queues is idle only if it says so', () =>
  withPage(async (driver) => {
    const own = { version: '1', host: 'vm', kinds: ['read'], concurrency: 4, started_at: 0 };
    const worker = (holder: string, running: number) => ({ ...own, type: 'queue_worker' as const, holder, running });
    await markPresent(heddle.database, [worker('busy/1', 3), worker('free/1', 0)], null);
    await driver.goto('/workers');
    const row = (name: string) =>
      driver.page.getByRole('table', { name: 'Workers' }).getByRole('row').filter({ hasText: name });
    await row('busy/1').getByText('3 of 4').waitFor();
    await row('busy/1').getByText('unknown').waitFor();
    await row('free/1').getByText('idle').waitFor();
  }));
