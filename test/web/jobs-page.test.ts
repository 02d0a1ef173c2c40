/** The pages of schedules in a real browser, against the real API and jobs on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { HeddleClient } from '@heddle/client';
import { newJobBench } from '@heddle/test-support/engine/schedule/fixture';
import type { JobBench } from '@heddle/test-support/engine/schedule/fixture';
import { createTestServer } from '@heddle/test-support/http/server';
import type { TestServer } from '@heddle/test-support/http/server';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');
const HOUR_MS = 3_600_000;

let bench: JobBench;
let server: TestServer;
let client: HeddleClient;
let browser: Browser;
let url: string;

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
});

after(() => browser.close());

/** The jobs live 20 hours ago, on the hour, until a test lets the hours pass. */
beforeEach(async () => {
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 20 * HOUR_MS;
  // Half past two in Tokyo is 17:30 UTC, which must not come during a test.
  const start = [14, 15, 16, 17].includes(new Date(hour).getUTCHours()) ? hour - 4 * HOUR_MS : hour;
  bench = await newJobBench(new Date(start).toISOString());
  const { database, jobs } = bench;
  server = await createTestServer({
    database,
    jobs,
    clock: bench.clock,
    config: { pageDirectory: join(ROOT, 'web/dist') },
  });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  client = new HeddleClient({ baseUrl: url });
});

afterEach(() => server.app.close());

async function withPage(run: (driver: PageDriver) => Promise<void>, width = 1400): Promise<void> {
  const driver = await PageDriver.open(browser, url);
  try {
    await driver.page.setViewportSize({ width, height: 900 });
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

const WORKFLOW = { root: { mode: 'sequential' as const, children: [{ kind: 'nightly.scan' }, { kind: 'report' }] } };

function create(
  name: string,
  change: Partial<Parameters<HeddleClient['jobs']['create']>[0]> = {},
): Promise<{ id: string }> {
  return client.jobs.create({ name, cron: '@hourly', workflow: WORKFLOW, ...change });
}

async function finish(name: string, end: Parameters<JobBench['finish']>[1] = {}): Promise<void> {
  const running = await bench.jobs.history(name, { state: 'Running', offset: 0, limit: 100 });
  await bench.finish(running!, end);
}

async function hours(count: number): Promise<void> {
  await bench.clock.advance(count * HOUR_MS);
  await bench.start();
}

const FAILED = { root_state: 'failed', counts: { succeeded: 1, failed: 1 }, reason: 'connect ECONNREFUSED' } as const;

/** Three runs: one that fails after it has kept the next one from starting, and one that succeeds. */
async function threeRuns(name: string): Promise<void> {
  await hours(1);
  await hours(1);
  await finish(name, FAILED);
  await hours(1);
  await bench.clock.advance(95_000);
  await finish(name, { root_state: 'succeeded', counts: { succeeded: 2 }, ended_at: bench.clock.now() });
}

const row = (driver: PageDriver, text: string) =>
  driver.page.getByRole('table').locator('tbody tr').filter({ hasText: text });

test('a job shows its schedule in words, its next run with the time zone, and the outcomes of its last runs', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('hourly-scan');
    await create('tokyo', { cron: '30 2 * * *', time_zone: 'Asia/Tokyo' });
    await create('odd-days', { cron: '0 0 13 * 5', recurrence: 0 });
    await create('broken', { paused: true });
    await bench.database.query({
      name: 'test.break',
      text: `update recon.jobs set paused_reason = 'its workflow is not valid' where name = 'broken'`,
    });
    await threeRuns('hourly-scan');
    await driver.goto('/');
    await page.getByRole('link', { name: 'Schedules' }).click();
    const scan = row(driver, 'hourly-scan');
    await scan.getByText('Every hour, on the hour').waitFor();
    await scan.getByText('Succeeded').waitFor();
    const strip = scan.getByRole('group', { name: /^The last 3 runs, latest first: Succeeded, Skipped, Failed$/ });
    await strip.getByRole('link').nth(1).waitFor();
    assert.equal(await strip.getByRole('link').count(), 2, 'a skipped occurrence has no run');
    const tokyo = row(driver, 'tokyo');
    await tokyo.getByText('Every day at 02:30').waitFor();
    await tokyo.getByText(/02:30 Asia\/Tokyo/).waitFor();
    await tokyo.getByText('never ran').waitFor();
    const odd = row(driver, 'odd-days');
    await odd.getByText('0 0 13 * 5').waitFor();
    await odd.getByText('no runs left').waitFor();
    await row(driver, 'broken').getByText('Stopped').waitFor();
    await row(driver, 'broken').getByTitle('its workflow is not valid').waitFor();
    await page.getByLabel('State').selectOption('Paused');
    await page.waitForURL('**/schedules?paused=true');
    await scan.waitFor({ state: 'detached' });
    await page.reload();
    await row(driver, 'broken').waitFor();
    await page.getByLabel('State').selectOption('Any state');
    await hours(1);
    await scan.getByText('Running').waitFor();
  }));

test('the page of a job has its next runs, its history with links to the runs, and why the last ones failed or were missed', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('hourly-scan');
    await hours(1);
    await finish('hourly-scan', FAILED);
    await driver.goto('/jobs?job=hourly-scan');
    await page.waitForURL('**/schedules/hourly-scan');
    await page.getByTestId('next-runs').locator('li').nth(4).waitFor();
    const note = page.getByRole('note', { name: 'Reason' });
    await note.getByText(/The last run failed/).waitFor();
    await note.getByText('connect ECONNREFUSED').waitFor();
    await note.getByText('1 task failed.').waitFor();
    const [run] = (await bench.jobs.history('hourly-scan', { offset: 0, limit: 1 }))!;
    assert.equal(await note.getByRole('link').getAttribute('href'), `/runs/${run!.workflow_id}?view=tasks`);
    await hours(1);
    await hours(1);
    await note.getByText(/The last occurrence.*did not run/).waitFor();
    await note.getByText(/let them wait, or start another one/).waitFor();
    await bench.clock.advance(95_000);
    await finish('hourly-scan', { root_state: 'succeeded', counts: { succeeded: 2 }, ended_at: bench.clock.now() });
    const history = page.getByRole('table', { name: 'History' });
    await history.getByText('1 h 01 m').waitFor();
    await history.getByRole('img', { name: 'Tasks by state: 1 succeeded, 1 failed' }).waitFor();
    assert.equal(await history.locator('tbody tr').count(), 3);
    assert.match((await history.getByRole('link').first().getAttribute('href'))!, /^\/runs\//);
    await page.getByRole('img', { name: /^Durations of the last 2 runs/ }).waitFor();
    await page.getByTestId('history').getByRole('combobox', { name: 'State' }).selectOption('Skipped or missed');
    await page.waitForURL('**/schedules/hourly-scan?state=Skipped');
    await history.getByText('the run before it has not ended').waitFor();
    await history.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
    await driver.goto('/schedules/nowhere');
    await page.getByRole('heading', { name: 'No such job' }).waitFor();
  }));

test('pause, resume and run now work; running asks for confirmation, a rejection is shown', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('nightly', { cron: '30 2 * * *' });
    await driver.goto('/schedules/nightly');
    await driver.button('Pause');
    await page.getByTestId('next-runs').getByText('None while it is paused.').waitFor();
    await driver.button('Resume');
    await page.getByTestId('next-runs').locator('li').nth(4).waitFor();
    await driver.button('Run now');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Run nightly now?' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.deepEqual(await bench.history('nightly'), []);
    await driver.button('Run now');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('table', { name: 'History' }).getByText('Run now').waitFor();
    await driver.button('Run now');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await dialog
      .getByRole('alert')
      .getByText(/the run before it has not ended/)
      .first()
      .waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await bench.history('nightly')).length, 1);
  }));

test('a job is created with its next runs shown as one types; each fault is at its field', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await driver.goto('/schedules');
    await page.getByText('No jobs yet').waitFor();
    await page.getByRole('link', { name: 'New job' }).click();
    const preview = page.getByRole('group', { name: 'Next runs of this schedule' });
    const schedule = page.getByLabel('Schedule', { exact: true });
    await schedule.fill('61 2 * * *');
    await preview.getByText(/minute: 61/).waitFor();
    await schedule.fill('30 2 * * MON-FRI');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await preview.getByText('On weekdays at 02:30').waitFor();
    await preview.locator('li').nth(4).waitFor();
    await preview
      .getByText(/02:30 Europe\/Berlin/)
      .first()
      .waitFor();
    await page.getByLabel('Name').fill('-night');
    await page.getByLabel('Scheduled runs left').fill('many');
    await page.getByLabel('Workflow that it starts', { exact: true }).fill('{ "root": ');
    await driver.button('Create job');
    const faultOf = (label: string) => page.locator('.form-field').filter({ hasText: label }).getByRole('alert');
    await faultOf('Scheduled runs left')
      .getByText(/must be a whole number/)
      .waitFor();
    await page
      .getByRole('alert')
      .getByText(/is not valid JSON/)
      .waitFor();
    await page.getByLabel('Scheduled runs left').fill('3');
    await page
      .getByLabel('Workflow that it starts', { exact: true })
      .fill('{"root": {"mode": "sequental", "children": []}}');
    await driver.button('Create job');
    await faultOf('Name')
      .getByText(/letter or digit/)
      .waitFor();
    await page.getByLabel('Name').fill('night');
    await driver.button('Create job');
    const marked = page.getByRole('status', { name: 'Faults of Workflow that it starts' });
    await marked
      .getByText(/did you mean "sequential"/)
      .first()
      .waitFor();
    await marked.getByRole('button', { name: 'Line 1' }).first().waitFor();
    await page.getByLabel('Workflow that it starts', { exact: true }).fill(JSON.stringify(WORKFLOW));
    await page.getByLabel('If a run is open').selectOption('Wait for its end, one at most');
    await driver.button('Create job');
    await page.waitForURL('**/schedules/night');
    await page.getByRole('heading', { name: 'night' }).waitFor();
    const job = await client.jobs.get('night');
    const { cron, time_zone, recurrence, overlap, catch_up, workflow, paused } = job;
    assert.deepEqual(
      { cron, time_zone, recurrence, overlap, catch_up, workflow, paused },
      {
        ...{ cron: '30 2 * * MON-FRI', time_zone: 'Europe/Berlin', recurrence: 3, overlap: 'queue', catch_up: 'once' },
        ...{ workflow: WORKFLOW, paused: false },
      },
    );
  }));

test('editing sends what differs; a job is deleted after a question', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('report', { cron: '30 2 * * *' });
    await driver.goto('/schedules/report');
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Schedule', { exact: true }).fill('45 3 * * *');
    await page.getByLabel('Name').fill('daily-report');
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await driver.button('Save changes');
    assert.deepEqual((await sent).postDataJSON(), { name: 'daily-report', cron: '45 3 * * *' });
    await page.waitForURL('**/schedules/daily-report');
    await page.getByText('Every day at 03:45').first().waitFor();
    await driver.button('Delete');
    await page.getByRole('dialog').getByRole('heading', { name: 'Delete daily-report?' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No jobs yet').waitFor();
    assert.deepEqual(await client.jobs.list(), []);
  }));

test('a backfill says how many runs it would start, names a wrong end, and shows its progress', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('hourly');
    await driver.goto('/schedules/hourly');
    await driver.button('Backfill');
    const dialog = page.getByRole('dialog');
    const text = (hoursAgo: number): string =>
      new Date(bench.clock.now() - hoursAgo * HOUR_MS).toISOString().slice(0, 16);
    await dialog.getByLabel('From').fill(text(1));
    await dialog.getByLabel('Until').fill(text(4));
    await dialog.locator('.form-field').filter({ hasText: 'Until' }).getByRole('alert').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Start runs' }).isDisabled(), true);
    await dialog.getByLabel('From').fill(text(4));
    await dialog.getByLabel('Until').fill(text(2));
    await dialog.getByText(/^3 occurrences, from/).waitFor();
    assert.deepEqual(await bench.history('hourly'), [], 'nothing has started yet');
    await dialog.getByRole('button', { name: 'Start 3 runs' }).click();
    const progress = page.getByRole('status', { name: 'Backfill' });
    await progress.getByText('Backfill: 0 of 3 runs ended').waitFor();
    await page.waitForURL('**/schedules/hourly?backfill=3');
    await progress.getByText('1 running, 2 waiting.').waitFor();
    await finish('hourly');
    await progress.getByText('Backfill: 1 of 3 runs ended').waitFor();
    await finish('hourly');
    await finish('hourly');
    await progress.getByText('Backfill complete: 3 runs ended').waitFor();
    await progress.getByRole('button', { name: 'Hide' }).click();
    await page.waitForURL('**/schedules/hourly');
    const triggers = (await bench.history('hourly')).map(({ trigger, state }) => `${trigger} ${state}`);
    assert.deepEqual(
      triggers,
      Array.from({ length: 3 }, () => 'backfill Succeeded'),
    );
  }));

test('the calendar shows past runs with outcomes and the next ones, by week and day, and says what it leaves out', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('hourly');
    await threeRuns('hourly');
    const startedAt = new Date(bench.clock.now() - 2 * HOUR_MS);
    await driver.goto('/schedules');
    await page.getByRole('group', { name: 'View' }).getByRole('button', { name: 'Calendar' }).click();
    await page.waitForURL('**/schedules?view=calendar');
    const calendar = page.getByRole('list', { name: 'Calendar' });
    await calendar.getByText('hourly').first().waitFor();
    const day = startedAt.toISOString().slice(0, 10);
    await driver.goto(`/schedules?view=calendar&span=day&from=${day}`);
    const hour = startedAt.toISOString().slice(11, 13);
    const failed = calendar.getByRole('link', { name: `Failed ${hour}:00 hourly` });
    await failed.waitFor();
    assert.match((await failed.getAttribute('href'))!, /^\/runs\//);
    await driver.button('Next day');
    await page.waitForURL(/from=/);
    await calendar.getByRole('link', { name: '23:00 hourly' }).waitFor();
    assert.equal(await page.getByText(/are left out/).count(), 0);
    await create('every-minute', { cron: '* * * * *' });
    await page.getByRole('group', { name: 'Span' }).getByRole('button', { name: 'Week' }).click();
    await driver.button('Next week');
    await page.getByText(/later entries are left out: the calendar shows the first 2,000/).waitFor();
    await calendar.getByText('every-minute').first().waitFor();
  }));

test('without rights to operate, a user sees jobs and no operation', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('nightly');
    const user = { name: 'vera', role: 'viewer', scopes: ['read'], session_id: null };
    await page.route('**/v1/session', (route) =>
      route.fulfill({ json: { authentication: 'required', user, logins: { token: true, oidc: null } } }),
    );
    await driver.goto('/schedules');
    await row(driver, 'nightly').waitFor();
    assert.equal(await page.getByRole('link', { name: 'New job' }).count(), 0);
    await driver.goto('/schedules/nightly?form=edit');
    await page.getByRole('heading', { name: 'Next runs' }).waitFor();
    for (const name of ['Run now', 'Backfill', 'Pause', 'Delete']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    }
  }));

test('by keyboard alone a job is opened and run, also at the width of a phone', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('first');
    await create('second');
    await driver.goto('/schedules');
    await row(driver, 'second').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/schedules/second');
    await page.getByRole('button', { name: 'Run now' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'History' }).getByText('Run now').waitFor();
    assert.equal(await driver.read('document.documentElement.scrollWidth <= innerWidth'), true);
  }, 390));

test('an unavailable server is reported, and what was read stays', () =>
  withPage(async (driver) => {
    const { page } = driver;
    await create('nightly');
    await driver.goto('/schedules');
    await row(driver, 'nightly').waitFor();
    await page.route('**/v1/jobs*', (route) => route.abort());
    await page.getByText('The server is unreachable.').waitFor();
    await row(driver, 'nightly').waitFor();
    await page.unroute('**/v1/jobs*');
    await page.getByText('The server is unreachable.').waitFor({ state: 'detached' });
  }));
