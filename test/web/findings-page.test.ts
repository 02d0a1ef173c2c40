/** The page of findings in a real browser, against the real API on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Findings, ScanBooks } from '@heddle/core/engine/findings/port';
import { findingsOf, reported, runOf } from '@heddle/test-support/engine/findings/reported';
import { createTestServer } from '@heddle/test-support/http/server';
import type { TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');

let findings: Findings & ScanBooks;
let server: TestServer;
let browser: Browser;
let url: string;

before(async () => {
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  const { database } = await createTestDatabase();
  findings = findingsOf(database);
  server = await createTestServer({ findings, config: { pageDirectory: join(ROOT, 'web/dist') } });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  browser = await launchBrowser();
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

function rows(driver: PageDriver) {
  return driver.page.locator('.finding-table > tbody > tr:not(.row-more)');
}

/** Waits until the list has the given number of rows. */
async function listed(driver: PageDriver, count: number): Promise<void> {
  if (count > 0)
    await rows(driver)
      .nth(count - 1)
      .waitFor();
  await rows(driver).nth(count).waitFor({ state: 'detached' });
}

test('without findings the page explains how to get some', () =>
  withPage(async (driver) => {
    await driver.goto('/');
    await driver.page.getByRole('link', { name: 'Findings' }).click();
    await driver.page.getByText('No findings yet.').waitFor();
    assert.equal(await driver.page.getByRole('link', { name: 'Findings' }).getAttribute('aria-current'), 'page');
  }));

test('findings are listed newest first, filtered by state, target, rule and path, and appear by themselves', () =>
  withPage(async (driver) => {
    await runOf(findings, 'shop', [reported(1), reported(2), reported(3)]);
    await runOf(findings, 'shop', [reported(2), reported(3), reported(4, { rule_id: 'other-rule' })]);
    await driver.goto('/findings');
    await listed(driver, 4);
    await rows(driver).first().getByText('src/file-4.ts:4').waitFor();
    await rows(driver).first().getByText('mut_***').waitFor();
    await driver.button('Gone');
    await listed(driver, 1);
    await rows(driver).getByText('src/file-1.ts:1').waitFor();
    await driver.button('All');
    await listed(driver, 4);
    await driver.page.getByLabel('Rule').fill('other-rule');
    await driver.page.waitForURL(/\/findings\?rule=other-rule$/);
    await listed(driver, 1);
    await driver.page.reload();
    await listed(driver, 1);
    await driver.page.getByLabel('Rule').fill('');
    await listed(driver, 4);
    await driver.page.getByLabel('Path').fill('src/file-2');
    await listed(driver, 1);
    await driver.page.getByLabel('Path').fill('nowhere/');
    await driver.page.getByText('No matching findings.').waitFor();
    await driver.page.getByLabel('Path').fill('');
    await runOf(findings, 'bank', [reported(9)]);
    await listed(driver, 5);
    await driver.goto('/findings?target=bank');
    await listed(driver, 1);
    assert.equal(await driver.page.getByLabel('Target').inputValue(), 'bank');
  }));

test('a row opens the details of a finding and accepts its triage', () =>
  withPage(async (driver) => {
    const commit = { id: 'c0ffee11', author: 'Ann Example', date: '2026-01-01T00:00:00Z' };
    const extra = { path: 'app/<b>.env', occurrences: 3, encodings: ['base64'], commit };
    await runOf(findings, 'details', [reported(7, extra)]);
    await driver.goto('/findings?target=details');
    await driver.page.getByRole('button', { name: 'made-up-token' }).click();
    const details = driver.page.getByTestId('finding-details');
    for (const text of ['A made-up token', 'app/<b>.env:7:1', '3 times', 'base64', 'Ann Example']) {
      await details.getByText(text).first().waitFor();
    }
    await details.getByLabel('Comment').fill('invented for a test');
    await details.getByRole('button', { name: 'Ignore' }).click();
    await details.getByRole('heading', { name: 'Ignored' }).waitFor();
    await details.getByText('invented for a test').waitFor();
    await rows(driver).getByText('ignored').waitFor();
    const [finding] = await findings.list({ target: 'details' }, { after: null, limit: 1 });
    assert.deepEqual([finding!.triage.state, finding!.triage.comment], ['ignored', 'invented for a test']);
    await driver.page.getByLabel('Triage').selectOption('open');
    await driver.page.getByText('No matching findings.').waitFor();
    await driver.page.getByLabel('Triage').selectOption('');
    await driver.page.getByRole('button', { name: 'made-up-token' }).click();
    await details.getByRole('button', { name: 'Reopen' }).click();
    await details.getByRole('heading', { name: 'Open' }).waitFor();
  }));

test('many findings are paged', () =>
  withPage(async (driver) => {
    await runOf(
      findings,
      'many',
      Array.from({ length: 60 }, (_, n) => reported(n + 1)),
    );
    await driver.goto('/findings?target=many');
    await listed(driver, 25);
    await driver.button('Older');
    await driver.page.getByText('Page 2').waitFor();
    await driver.button('Older');
    await listed(driver, 10);
    await driver.button('Newer');
    await listed(driver, 25);
    await driver.button('Newer');
    await driver.page.getByText('Page 1').waitFor();
  }));
