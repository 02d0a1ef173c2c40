/** Two servers behind one address, which take requests in turn: the console shows what happens on either. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { startHeddle } from '@heddle/test-support/cli/heddle';
import type { Heddle } from '@heddle/test-support/cli/heddle';
import { Api } from '../support/web/api.ts';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';
import { RoundRobin } from '../support/web/round-robin.ts';

let entrance: RoundRobin;
let servers: Heddle[];
let browser: Browser;

before(async () => {
  browser = await launchBrowser();
  entrance = await RoundRobin.start();
  const first = await startHeddle();
  servers = [first, await startHeddle({ beside: first })];
  entrance.serve(...servers.map(({ system }) => system.port));
});

after(async () => {
  await browser.close();
  for (const server of servers.toReversed()) await server.stop();
  await entrance.stop();
});

test('a run that one server accepts and the other one ends is followed in every view', async () => {
  const [one, other] = servers.map(({ url }) => new Api(url)) as [Api, Api];
  const driver = await PageDriver.open(browser, entrance.url);
  const { page } = driver;
  await driver.goto('/runs');
  const [task] = await one.post<{ id: string; batch_id: string }[]>('/task', [{ name: 'shared', kind: 'shared' }]);
  const row = page.getByRole('row').filter({ hasText: 'shared' });
  await row.getByText('Waiting').waitFor();
  const { id, attempt } = await other.claimOne('shared');
  await row.getByText('Running').waitFor();
  await driver.goto(`/runs/${task!.batch_id}`);
  await page.locator('.run-head').getByText('0 of 1 tasks ended').waitFor();
  await other.post(`/v1/work/${id}/logs`, { attempt, first_line: 0, lines: [{ text: 'half done' }] });
  await one.post(`/v1/work/${id}/complete`, { attempt, result: { by: 'one' } });
  await page.locator('.run-head').getByText('1 of 1 tasks ended').waitFor();
  await driver.goto(`/tasks/${id}?tab=logs`);
  await page.getByText('half done').waitFor();
  await driver.goto('/workers');
  await page.getByRole('row').nth(2).waitFor();
  assert.deepEqual(
    servers.map(({ system }) => (entrance.connections.get(system.port) ?? 0) > 0),
    [true, true],
  );
  assert.deepEqual(driver.complaints, []);
  await driver.close();
});
