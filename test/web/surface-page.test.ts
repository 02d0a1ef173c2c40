/** The page of network scans in a real browser, against the real API on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { JsonObject } from '@heddle/base/json';
import type { ReportedModel } from '@heddle/core/domain/model-record';
import type { ModelBooks, Models } from '@heddle/core/engine/models/port';
import { modelsOf, runOf } from '@heddle/test-support/engine/models/seen';
import { newBench } from '@heddle/test-support/engine/manager/fixture';
import type { Bench } from '@heddle/test-support/engine/manager/fixture';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { createTestServer } from '@heddle/test-support/http/server';
import type { TestServer } from '@heddle/test-support/http/server';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');
const DAY_MS = 86_400_000;
const MARKUP = '<img src=x onerror="window.__attacked=true">';

let bench: Bench;
let models: Models & ModelBooks;
let server: TestServer;
let browser: Browser;
let url: string;

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  bench = await newBench();
  const { engine, database } = bench;
  models = modelsOf(database);
  const runs = createRuns(database);
  server = await createTestServer({
    engine,
    database,
    runs,
    models,
    config: { pageDirectory: join(ROOT, 'web/dist') },
  });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(async () => {
  await browser.close();
  await server.app.close();
  await bench.engine.close();
});

interface Look {
  colours?: 'light' | 'dark';
  width?: number;
}

async function withPage(
  run: (driver: PageDriver) => Promise<void>,
  { colours, width = 1400 }: Look = {},
): Promise<void> {
  const driver = await PageDriver.open(browser, url, colours);
  try {
    await driver.page.setViewportSize({ width, height: 900 });
    await run(driver);
    assert.deepEqual(driver.complaints, []);
    assert.equal(await driver.read('document.documentElement.scrollWidth <= innerWidth'), true);
  } finally {
    await driver.close();
  }
}

function host(number: number, ports: number[], names: string[] = []): ReportedModel {
  const ip = `10.0.0.${number}`;
  return { model: 'host', key: ip, data: { ip, names, ports } };
}

function service(number: number, port: number, banner: string): ReportedModel {
  const ip = `10.0.0.${number}`;
  return { model: 'service', key: `${ip}:${port}/tcp`, data: { ip, port, protocol: 'tcp', names: [], banner } };
}

function certificate(sha256: string, subject: string, days: number, data: JsonObject): ReportedModel {
  const not_after = new Date(Date.now() + days * DAY_MS).toISOString();
  const common = { subject_cn: subject, subject_an: [subject], issuer_cn: 'Some Authority', not_after };
  return { model: 'certificate', key: sha256.repeat(32), data: { ...common, endpoints: ['10.0.0.1:443'], ...data } };
}

const see = (target: string, seen: readonly ReportedModel[], covers: string[]) =>
  runOf(models, target, seen, { covers });

/** The rows of the list that is shown. */
function rows(driver: PageDriver) {
  return driver.page.locator('#content .table tbody tr');
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

test('without models the page explains how to get some', () =>
  withPage(async (driver) => {
    await driver.goto('/');
    await driver.page.getByRole('link', { name: 'Surface' }).click();
    await driver.page.getByText('Nothing found yet').waitFor();
    assert.equal(await driver.page.getByRole('link', { name: 'Surface' }).getAttribute('aria-current'), 'page');
  }));

test('hosts are listed with ports, names and state, filtered by state, target and text, and appear by themselves', () =>
  withPage(async (driver) => {
    await see('office', [host(1, [22, 80], ['www.example.test']), host(2, [443]), host(3, [25])], ['host']);
    await see('office', [host(1, [22, 80], ['www.example.test']), host(2, [443, 8443]), host(4, [21])], ['host']);
    await driver.goto('/surface');
    await listed(driver, 4);
    const row = (address: string) => rows(driver).filter({ hasText: address });
    await row('10.0.0.1').getByText('22, 80').waitFor();
    await row('10.0.0.1').getByText('www.example.test').waitFor();
    for (const [address, state] of [
      ['10.0.0.1', 'Known'],
      ['10.0.0.2', 'Changed'],
      ['10.0.0.3', 'Gone'],
      ['10.0.0.4', 'New'],
    ] as const) {
      await row(address).getByText(state).waitFor();
    }
    await choose(driver, 'State', 'Gone');
    await listed(driver, 1);
    await driver.page.waitForURL(/\/surface\?state=gone$/);
    await driver.page.reload();
    await listed(driver, 1);
    await choose(driver, 'State', 'Any state');
    for (const text of ['0.0.4', 'WWW.example', '8443']) {
      await driver.page.getByRole('searchbox', { name: 'Search' }).fill(text);
      await listed(driver, 1);
    }
    await driver.page.getByRole('searchbox', { name: 'Search' }).fill('192.');
    await driver.page.getByText('No matching hosts').waitFor();
    await driver.page.getByRole('searchbox', { name: 'Search' }).fill('');
    await listed(driver, 4);
    await see('shop', [host(9, [80])], ['host']);
    await listed(driver, 5);
    await driver.goto('/surface?target=shop');
    await listed(driver, 1);
    assert.equal(await driver.page.getByRole('combobox', { name: 'Target' }).inputValue(), 'shop');
  }));

test('a row opens by keyboard and shows changes field by field', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await see('banners', [service(1, 22, 'SSH-2.0-One')], ['service']);
    await see('banners', [service(1, 22, 'SSH-2.0-Two')], ['service']);
    await driver.goto('/surface?model=service&target=banners');
    await listed(driver, 1);
    await rows(driver).getByTitle('SSH-2.0-Two').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/surface\/[0-9a-f-]{36}$/);
    const change = page.getByTestId('model-history').locator('.changes li');
    assert.equal(await change.innerText(), 'banner SSH-2.0-One → SSH-2.0-Two');
    await page.getByText(/in 2 runs/).waitFor();
    const details = page.getByTestId('model-details');
    await details.getByText('22/tcp').waitFor();
    assert.equal(await details.locator('pre').count(), 0, 'facts, not JSON');
    await page.reload();
    await change.waitFor();
    const [id] = /[0-9a-f-]{36}$/.exec(page.url())!;
    await driver.goto(`/surface?model=service&open=${id}`);
    await page.waitForURL(`**/surface/${id}`);
  }));

test('findings and expiry of a certificate are in the list; the dark theme is readable, too', () =>
  withPage(
    async (driver) => {
      const sound = certificate('aa', 'sound.test', 70.5, { findings: [] });
      const soon = certificate('bb', 'soon.test', 9.5, { findings: [] });
      const expired = certificate('cc', 'expired.test', -3.5, { findings: ['expired', 'weak_key'] });
      await see('certificates', [sound, soon, expired], ['certificate']);
      await driver.goto('/surface');
      await driver.button('Certificates');
      await listed(driver, 3);
      const row = (subject: string) => rows(driver).filter({ hasText: subject });
      await row('expired.test').getByText('expired 3 days ago').waitFor();
      assert.deepEqual(await row('expired.test').locator('.chip').allTextContents(), ['expired', 'weak key']);
      await row('soon.test').getByText('expires in 9 days').waitFor();
      await row('sound.test').getByText('expires in 2 months').waitFor();
      assert.equal(await row('sound.test').locator('.chip').count(), 0);
      const style = "getComputedStyle(document.querySelector('.chip'))";
      const colours = [
        await driver.read<string>(`${style}.color`),
        await driver.read<string>(`${style}.backgroundColor`),
      ];
      const [text, ground] = colours.map(lightness);
      assert.ok(text! > 0.7 && ground! < 0.35, colours.join(' on '));
    },
    { colours: 'dark' },
  ));

/** From 0 to 1, of `rgb(…)`. */
function lightness(colour: string): number {
  const channels = (colour.match(/\d+/g) ?? []).slice(0, 3).map(Number);
  return Math.max(...channels) / 255;
}

test('names and TLS endpoints have their own tables, and data from the network stays text', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const mx = { name: 'example.test', type: 'MX', mx: [{ preference: 10, exchange: 'mail.example.test' }] };
    const made = { name: 'x.example.test', type: 'A', a: ['10.0.0.1'], wildcard: true };
    const sha256 = 'dd'.repeat(32);
    const tls = { ip: '10.0.0.1', port: 443, sni: 'www.example.test', tls_version: 'tls13', certificate: sha256 };
    const seen = [
      { model: 'name', key: 'example.test/MX', data: mx },
      { model: 'name', key: 'x.example.test/A', data: made },
      { model: 'tls', key: '10.0.0.1:443/www.example.test', data: { ...tls, findings: ['mismatched'] } },
      { ...certificate('dd', MARKUP, 1.5, { findings: [] }) },
      { ...service(1, 23, MARKUP) },
    ];
    await see('mixed', seen, []);
    await driver.goto('/surface?model=name&target=mixed');
    await listed(driver, 2);
    await rows(driver).getByText('10 mail.example.test').waitFor();
    await driver.button('TLS');
    await listed(driver, 1);
    await rows(driver).getByText('wrong name').waitFor();
    await rows(driver).getByRole('link', { name: '10.0.0.1:443' }).click();
    const details = page.getByTestId('model-details');
    await details.getByText('TLS 1.3').waitFor();
    await details.getByRole('link', { name: sha256.slice(0, 16) }).click();
    await page.waitForURL('**/surface?model=certificate*');
    await listed(driver, 1);
    await rows(driver).getByText(MARKUP).first().waitFor();
    await driver.goto('/surface?model=service&target=mixed');
    await rows(driver).getByTitle(MARKUP).first().waitFor();
    await rows(driver).getByRole('link').first().click();
    await details.getByText(MARKUP).first().waitFor();
    assert.equal(await driver.read('window.__attacked'), undefined);
  }));

test('addresses show the names found by scans, and an aggregator links to what it merges', () =>
  withPage(async (driver) => {
    const seen = [
      host(77, [22]),
      { model: 'name', key: 'git.example.test/A', data: { name: 'git.example.test', type: 'A', a: ['10.0.0.77'] } },
      {
        model: 'name',
        key: 'x.apps.test/A',
        data: { name: 'x.apps.test', type: 'A', a: ['10.0.0.77'], wildcard: true },
      },
      { model: 'name', key: '10.0.0.77/PTR', data: { name: '10.0.0.77', type: 'PTR', ptr: ['vcs.example.test'] } },
    ];
    await see('called', seen, []);
    const input = { target: 'called' };
    const root = { mode: 'sequential', children: [{ id: 'merge', kind: 'DnsScanAggregator', input }] };
    const submitted = await fetch(`${url}/v1/workflows`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'scan', root }),
    });
    const { id } = (await submitted.json()) as { id: string };
    await driver.goto(`/runs/${id}`);
    await driver.page.getByRole('treeitem', { name: /^merge/ }).click();
    await driver.page.getByRole('link', { name: 'Names of called' }).click();
    await driver.page.waitForURL('**/surface?model=name&target=called');
    await listed(driver, 3);
    await driver.button('Hosts');
    await listed(driver, 1);
    await rows(driver).getByText('git.example.test, vcs.example.test', { exact: true }).waitFor();
  }));

test('the page of a host has its services, certificates, names and history, live', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const covers = ['host', 'service', 'tls', 'certificate'];
    const sha256 = 'ee'.repeat(32);
    const tls = { ip: '10.0.0.50', port: 443, sni: 'shop.test', tls_version: 'tls12', certificate: sha256 };
    const at = { endpoints: ['10.0.0.50:443'], findings: ['expired'] };
    const base = [
      service(50, 443, ''),
      { model: 'tls', key: '10.0.0.50:443/shop.test', data: { ...tls, findings: ['weak_version'] } },
      certificate('ee', 'shop.test', -1.5, at),
      certificate('ff', 'elsewhere.test', 90.5, { endpoints: ['110.0.0.50:443'], findings: [] }),
      { model: 'name', key: 'shop.test/A', data: { name: 'shop.test', type: 'A', a: ['10.0.0.50'] } },
      host(5, [80]),
    ];
    await see(
      'one',
      [host(50, [22, 443, 8080]), service(50, 22, 'SSH-2.0-OpenSSH_9.2p1'), service(50, 8080, ''), ...base],
      covers,
    );
    await driver.goto('/surface/hosts/10.0.0.50?target=one');
    await page.waitForURL(/\/surface\/[0-9a-f-]{36}$/);
    const services = page.getByRole('table', { name: 'Services' });
    const ssh = services.locator('tbody tr').filter({ hasText: 'OpenSSH' });
    await ssh.getByText('OpenSSH 9.2p1').waitFor();
    const https = services.locator('tbody tr').filter({ hasText: '443' });
    await https.getByText('TLS 1.2').waitFor();
    await https.getByText('expired 1 day ago').waitFor();
    assert.deepEqual(await https.locator('.chip').allTextContents(), ['old TLS version', 'expired']);
    const certificates = page.getByRole('table', { name: 'Certificates' });
    assert.deepEqual(await certificates.getByRole('link').allTextContents(), ['shop.test']);
    await page.getByRole('region', { name: 'Names' }).getByRole('link', { name: 'shop.test' }).waitFor();
    await see('one', [host(50, [22, 443]), service(50, 22, 'SSH-2.0-OpenSSH_9.6p1'), ...base], covers);
    await ssh.getByText('OpenSSH 9.6p1').waitFor();
    const history = page.getByTestId('model-history');
    await history.getByText('Port 8080 gone').waitFor();
    await history.getByText('ports 22, 443, 8080 → 22, 443').waitFor();
    await history.getByText('banner SSH-2.0-OpenSSH_9.2p1 → SSH-2.0-OpenSSH_9.6p1').waitFor();
    assert.equal(await page.locator('pre').filter({ visible: true }).count(), 0, 'raw data are folded');
    await page.getByText('Data as stored').click();
    await page.getByRole('region', { name: 'Data' }).getByText('"10.0.0.50"').waitFor();
    await https.getByRole('link', { name: '443', exact: true }).click();
    await page.getByTestId('model-details').getByRole('link', { name: '10.0.0.50' }).click();
    await ssh.waitFor();
  }));

test('the pages fit a phone', () =>
  withPage(
    async (driver) => {
      await see('phone', [host(60, [22, 443]), service(60, 22, 'x'.repeat(300))], ['host', 'service']);
      await driver.goto('/surface?target=phone');
      await listed(driver, 1);
      await rows(driver).getByRole('link').click();
      await driver.page.getByRole('table', { name: 'Services' }).waitFor();
      assert.equal(await driver.read('document.getElementById("scroller").scrollWidth <= innerWidth'), true);
    },
    { width: 390 },
  ));

test('many models are paged', () =>
  withPage(async (driver) => {
    await see(
      'many',
      Array.from({ length: 120 }, (_, n) => host(n + 1, [80])),
      ['host'],
    );
    await driver.goto('/surface?target=many');
    await listed(driver, 50);
    await driver.button('Load more');
    await listed(driver, 100);
    await driver.button('Load more');
    await listed(driver, 120);
    await driver.button('Services');
    await driver.page.getByText('No matching services').waitFor();
  }));
