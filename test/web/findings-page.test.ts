/** The page of findings in a real browser, against the real API on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Findings, ScanBooks } from '@heddle/core/engine/findings/port';
import { findingsOf, reported, runOf, verified } from '@heddle/test-support/engine/findings/reported';
import { createTestServer } from '@heddle/test-support/http/server';
import type { TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Submitted {
  kind: string;
  input: object;
}

let findings: Findings & ScanBooks;
let engine: Engine;
let server: TestServer;
let browser: Browser;
let url: string;

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  const { database } = await createTestDatabase();
  findings = findingsOf(database);
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  const runs = createRuns(database);
  server = await createTestServer({
    findings,
    engine,
    database,
    runs,
    config: { pageDirectory: join(ROOT, 'web/dist') },
  });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(async () => {
  await browser.close();
  await server.app.close();
  await engine.close();
});

async function withPage(run: (driver: PageDriver) => Promise<void>, width = 1400): Promise<void> {
  const driver = await PageDriver.open(browser, url);
  try {
    await driver.page.setViewportSize({ width, height: 900 });
    await run(driver);
    assert.deepEqual(driver.complaints, []);
    assert.equal(await driver.read('document.documentElement.scrollWidth <= innerWidth'), true);
  } finally {
    await driver.close();
  }
}

function rows(driver: PageDriver) {
  return driver.page.getByRole('table', { name: 'Findings' }).locator('tbody tr');
}

/** Waits until the list has the given number of rows. */
async function listed(driver: PageDriver, count: number): Promise<void> {
  if (count > 0)
    await rows(driver)
      .nth(count - 1)
      .waitFor();
  await rows(driver).nth(count).waitFor({ state: 'detached' });
}

const choose = (driver: PageDriver, label: string, option: string) =>
  driver.page.getByRole('combobox', { name: label }).selectOption(option);

async function triagesOf(target: string): Promise<string[]> {
  const listedOnes = await findings.list({ target }, { after: null, limit: 100 });
  return listedOnes.map(({ path, triage }) => `${path} ${triage.state} ${triage.comment}`).sort();
}

test('without findings the page explains how to get some', () =>
  withPage(async (driver) => {
    await driver.goto('/');
    await driver.page.getByRole('link', { name: 'Findings' }).click();
    await driver.page.getByText('No findings yet').waitFor();
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
    await choose(driver, 'State', 'Gone');
    await listed(driver, 1);
    await rows(driver).getByText('src/file-1.ts:1').waitFor();
    await choose(driver, 'State', 'Any state');
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
    await driver.page.getByText('No matching findings').waitFor();
    await driver.page.getByLabel('Path').fill('');
    await runOf(findings, 'bank', [reported(9)]);
    await listed(driver, 5);
    await driver.goto('/findings?target=bank');
    await listed(driver, 1);
    assert.equal(await driver.page.getByRole('combobox', { name: 'Target' }).inputValue(), 'bank');
  }));

test('verdicts are shown, and findings are filtered by them', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const found = (['active', 'inactive', 'unknown'] as const).map((verdict, at) =>
      reported(at + 1, { verification: verified(verdict) }),
    );
    const description = 'A made-up token; revoke it at https://example.com/tokens.';
    found[0] = { ...found[0]!, description };
    await runOf(findings, 'verdicts', [...found, reported(9)]);
    await driver.goto('/findings?target=verdicts');
    await listed(driver, 4);
    await choose(driver, 'Verdict', 'Active');
    await listed(driver, 1);
    await rows(driver).getByText('src/file-1.ts:1').waitFor();
    await rows(driver).getByTitle('Made-up says that it is active').waitFor();
    await rows(driver).getByRole('link', { name: 'made-up-token' }).click();
    const details = page.getByTestId('finding-details');
    await details.getByText('Made-up says that it is active').waitFor();
    await details.getByText('octocat').waitFor();
    await details.getByText('repo, gist').waitFor();
    const steps = page.getByTestId('finding-steps');
    await steps.getByText('Its provider still accepts it.').waitFor();
    const where = steps.getByRole('link', { name: 'https://example.com/tokens', exact: true });
    assert.equal(await where.getAttribute('href'), 'https://example.com/tokens');
  }));

test('the provider of a secret is asked from its page, unless its place cannot be read again', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const commit = { id: 'c0ffee11', author: 'Ann Example', date: '2026-01-01T00:00:00Z', subject: 'Add a key' };
    await runOf(findings, 'asked', [
      reported(1, { path: '/srv/app.env', verification: verified('active') }),
      reported(2, { path: 'old.env', commit }),
    ]);
    const made = await findings.list({ target: 'asked' }, { after: null, limit: 2 });
    const idOf = (path: string): string => made.find((finding) => finding.path === path)!.id;
    await driver.goto(`/findings/${idOf('old.env')}`);
    await page.getByRole('button', { name: 'Ignore' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Verify' }).count(), 0);
    await driver.goto(`/findings/${idOf('/srv/app.env')}`);
    const submission = page.waitForRequest('**/v1/workflows');
    await driver.button('Verify again');
    const { root } = (await submission).postDataJSON() as { root: { children: { children: Submitted[] }[] } };
    const [read, keep] = root.children[0]!.children;
    assert.deepEqual(
      [read!.kind, read!.input],
      [
        'ObjectScan',
        {
          sources: [{ type: 'list', paths: ['/srv/app.env'] }],
          options: { verify: true, context_lines: 0, confidence: 'low' },
        },
      ],
    );
    assert.deepEqual(keep!.input, { target: 'asked', verdicts: true });
    await page.getByRole('link', { name: 'Show verification' }).click();
    await page.waitForURL('**/runs/*');
    await page.getByRole('heading', { name: 'verify findings' }).waitFor();
  }));

test('the page of a finding shows where it is, its details and its history, and accepts its triage', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const commit = { id: 'c0ffee11', author: 'Ann Example', date: '2026-01-01T00:00:00Z', subject: 'Add a key' };
    const extra = { path: 'app/<b>.env', occurrences: 3, encodings: ['base64'], commit, end_line: 8 };
    await runOf(findings, 'details', [reported(7, extra)]);
    const [made] = await findings.list({ target: 'details' }, { after: null, limit: 1 });
    await driver.goto(`/findings?finding=${made!.id}`);
    await page.waitForURL(`**/findings/${made!.id}`);
    const code = page.getByRole('figure', { name: 'Where the secret is' });
    await code.getByText('app/<b>.env:7:1').waitFor();
    assert.deepEqual(await code.locator('.code-lines li').allInnerTexts(), ['7\nmut_*** …']);
    await page.getByText('A made-up token').waitFor();
    const details = page.getByTestId('finding-details');
    for (const text of ['commit c0ffee11 by Ann Example', ': Add a key', 'encoded here: base64'])
      await code.getByText(text).waitFor();
    for (const text of ['3 times', 'base64']) await details.getByText(text).first().waitFor();
    const history = page.getByTestId('finding-history');
    await history.getByText('First found').waitFor();
    await runOf(findings, 'details', [reported(7, extra)]);
    await history.getByText('Last found, in 2 runs so far').waitFor();
    await driver.button('Ignore');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Comment').fill('invented for a test');
    await dialog.getByRole('button', { name: 'Ignore' }).click();
    await details.getByText('Ignored').waitFor();
    await history.getByText('invented for a test').waitFor();
    assert.deepEqual(await triagesOf('details'), ['app/<b>.env ignored invented for a test']);
    await driver.button('Reopen');
    await dialog.getByRole('button', { name: 'Reopen' }).click();
    await details.getByText('Open', { exact: true }).waitFor();
    await runOf(findings, 'details', []);
    await history.getByText('Gone: a complete run did not find it').waitFor();
    await driver.goto('/findings/01900000-0000-7000-8000-000000000000');
    await page.getByRole('heading', { name: 'No such finding' }).waitFor();
  }));

test('findings that are selected by keyboard are triaged in one call', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await runOf(findings, 'bulk', [reported(21), reported(22), reported(23)]);
    await driver.goto('/findings?target=bulk');
    await listed(driver, 3);
    for (const key of ['j', 'x', 'j', 'j', 'x']) await page.keyboard.press(key);
    const bar = page.getByRole('group', { name: 'Selected findings' });
    await bar.getByText('2 selected').waitFor();
    await bar.getByRole('button', { name: 'False positive' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Mark 2 findings as false positive?' }).waitFor();
    await dialog.getByLabel('Comment').fill('from the manual');
    const calls: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') calls.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    await dialog.getByLabel('Comment').press('Enter');
    await page.getByText('2 findings are now false positive').waitFor();
    assert.deepEqual(calls, ['POST /v1/findings/bulk']);
    await bar.waitFor({ state: 'detached' });
    assert.deepEqual(await triagesOf('bulk'), [
      'src/file-21.ts false_positive from the manual',
      'src/file-22.ts open null',
      'src/file-23.ts false_positive from the manual',
    ]);
    await choose(driver, 'Triage', 'Open');
    await listed(driver, 1);
    await page.getByRole('checkbox', { name: 'Select all' }).check();
    await bar.getByRole('button', { name: 'Ignore' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await bar.getByRole('button', { name: 'Clear selection' }).click();
    await bar.waitFor({ state: 'detached' });
  }));

test('without rights to operate, nothing can be selected or triaged', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await runOf(findings, 'viewed', [reported(41)]);
    const user = { name: 'vera', role: 'viewer', scopes: ['read'], session_id: null };
    await page.route('**/v1/session', (route) =>
      route.fulfill({ json: { authentication: 'required', user, logins: { token: true, oidc: null } } }),
    );
    await driver.goto('/findings?target=viewed');
    await listed(driver, 1);
    assert.equal(await page.getByRole('checkbox').count(), 0);
    await rows(driver).getByRole('link').click();
    await page.getByTestId('finding-history').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Ignore' }).count(), 0);
  }));

test('many findings are paged, also at the width of a phone', () =>
  withPage(async (driver) => {
    await runOf(
      findings,
      'many',
      Array.from({ length: 120 }, (_, n) => reported(n + 1)),
    );
    await driver.goto('/findings?target=many');
    await listed(driver, 50);
    await driver.button('Load more');
    await listed(driver, 100);
    await driver.button('Load more');
    await listed(driver, 120);
    assert.equal(await driver.page.getByRole('button', { name: 'Load more' }).count(), 0);
  }, 390));

test('a finding shows the code around it, what to do, and the other places of its secret', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const secret_id = 'ab'.repeat(16);
    const context = [
      { number: 6, text: 'const client = new Client({' },
      { number: 7, text: `  auth: 'mut_***', // <b>${'long '.repeat(40)}`, mark: { start: 9, end: 16 } },
      { number: 8, text: '});' },
    ];
    const description = 'Found a made-up token; revoke it in the made-up settings.';
    await runOf(findings, 'around', [reported(41, { path: 'src/a.ts', secret_id, context, description })]);
    await runOf(findings, 'beside', [reported(42, { path: 'src/b.ts', secret_id }), reported(43)]);
    const [made] = await findings.list({ target: 'around' }, { after: null, limit: 1 });
    await driver.goto(`/findings/${made!.id}`);
    const code = page.getByRole('figure', { name: 'Where the secret is' });
    await code.getByText('const client = new Client({').waitFor();
    assert.deepEqual(await code.locator('.code-number').allInnerTexts(), ['6', '7', '8']);
    assert.equal(await code.locator('mark').innerText(), 'mut_***');
    assert.match(await code.locator('[data-match]').innerText(), /^7\n {2}auth: 'mut_\*\*\*', \/\/ <b>long/);
    const steps = page.getByTestId('finding-steps');
    await steps.getByText('Revoke it in the made-up settings.').waitFor();
    await page.getByText('Found a made-up token.').waitFor();
    await steps.getByRole('link', { name: 'all its places' }).click();
    await page.waitForURL(`**/findings?secret=${secret_id}`);
    await listed(driver, 2);
    await rows(driver).first().getByText('Revoke it').or(rows(driver).first().getByText('Revoke the secret')).waitFor();
    await driver.button('One secret ×');
    await page.waitForURL('**/findings');
    await driver.goto(`/findings/${made!.id}`);
    await page.getByRole('table', { name: 'Other places' }).getByRole('link', { name: 'src/b.ts:42' }).click();
    await page.getByRole('table', { name: 'Other places' }).getByRole('link', { name: 'src/a.ts:41' }).waitFor();
    await page.getByText('The lines around it are not stored.').waitFor();
  }));
