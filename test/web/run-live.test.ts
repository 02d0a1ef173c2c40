/** What the console shows of a run by itself: changes on every view, and many equal tasks as one. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { HeddleClient } from '@heddle/client';
import type { NewTaskDto } from '@heddle/client';
import { startHeddle } from '@heddle/test-support/cli/heddle';
import type { Heddle } from '@heddle/test-support/cli/heddle';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver, eventually } from '../support/web/page-driver.ts';

const ROOT = join(import.meta.dirname, '../..');
const WIDE_COUNT = 10_000;

let heddle: Heddle;
let browser: Browser;
let client: HeddleClient;

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  heddle = await startHeddle();
  client = new HeddleClient({ baseUrl: heddle.url });
});

after(async () => {
  await browser.close();
  await heddle.stop();
});

interface Claimed {
  id: string;
  name: string;
  attempt: number;
}

async function post<Answer>(path: string, body: unknown): Promise<Answer> {
  const response = await fetch(`${heddle.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `POST ${path}: ${response.status} ${text.slice(0, 500)}`);
  return JSON.parse(text) as Answer;
}

async function claim(kind: string, max = 10): Promise<Claimed[]> {
  return (await post<{ tasks: Claimed[] }>('/v1/work/claim', { kinds: [kind], max, lease_secs: 600 })).tasks;
}

async function fail({ id, attempt }: Claimed, reason: string): Promise<void> {
  await post(`/v1/work/${id}/fail`, { attempt, reason });
}

async function complete({ id, attempt }: Claimed): Promise<void> {
  await post(`/v1/work/${id}/complete`, { attempt });
}

async function withPage(run: (driver: PageDriver) => Promise<void>): Promise<void> {
  const driver = await PageDriver.open(browser, heddle.url);
  try {
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

/** Changes something without the page, and waits until the page shows it, without a reload. */
async function seenLive(driver: PageDriver, view: string, change: () => Promise<void>, shown: Locator): Promise<void> {
  await driver.read('(window.__notReloaded = true)');
  await change();
  const startedAt = performance.now();
  await shown.first().waitFor();
  console.log(`# ${view}: shown after ${Math.round(performance.now() - startedAt)} ms`);
  assert.equal(await driver.read('window.__notReloaded'), true);
}

test('a change of state is shown by itself on Home, in the list of runs, on a run and on a task', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const { batchId } = await client.submit(
      ['one', 'two', 'three', 'four', 'five', 'six'].map((name) => ({ name, kind: 'live' })),
    );
    const claimed = await claim('live');
    const [home, list, graph, tasks, timeline, alone] = claimed as [
      Claimed,
      Claimed,
      Claimed,
      Claimed,
      Claimed,
      Claimed,
    ];

    await driver.goto('/');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    const failing = page.getByTestId('failing').getByRole('link', { name: /the first reason/ });
    await seenLive(driver, 'Home', () => fail(home, 'the first reason'), failing);

    await driver.goto('/runs');
    const row = page.getByRole('row').filter({ hasText: 'live' });
    await row.getByText('1 / 6').waitFor();
    await seenLive(driver, 'list of runs', () => complete(list), row.getByText('2 / 6'));

    await driver.gotoGraph(batchId!);
    await page.getByTestId('signal').getByText('Live').waitFor();
    await seenLive(driver, 'head of a run', () => fail(graph, 'a reason'), page.getByText('3 of 6 tasks ended'));
    await driver.waitForColour(graph.id, 'Failure');

    await driver.goto(`/runs/${batchId}?view=tasks`);
    const ended = page.getByRole('row').filter({ hasText: tasks.name }).getByText('Succeeded');
    await page.getByRole('row').filter({ hasText: tasks.name }).getByText('Running').waitFor();
    await seenLive(driver, 'tasks of a run', () => complete(tasks), ended);

    await driver.goto(`/runs/${batchId}?view=timeline`);
    const rows = page.getByRole('list', { name: 'Timeline' });
    await rows.getByTitle(`${timeline.name}: Running`).waitFor();
    await seenLive(driver, 'timeline', () => fail(timeline, 'x'), rows.getByTitle(`${timeline.name}: Failed`));

    await driver.goto(`/tasks/${alone.id}`);
    await page.getByRole('heading', { name: alone.name }).waitFor();
    const reason = page.getByRole('note', { name: 'Reason' }).getByText('the last reason');
    await seenLive(driver, 'task', () => fail(alone, 'the last reason'), reason);
  }));

test('10,000 equal tasks are one node with its tally; one is found, and a change does not lay the graph out again', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const requires = (id: string): { id: string; requires_success: boolean } => ({ id, requires_success: true });
    const names = Array.from({ length: WIDE_COUNT }, (_, i) => `Hash part ${i}`);
    const batch: NewTaskDto[] = [
      { id: 'plan', name: 'Plan', kind: 'wide-plan' },
      ...names.map((name) => ({ id: name, name, kind: 'wide-part', dependencies: [requires('plan')] })),
      { id: 'join', name: 'Join', kind: 'wide-join', dependencies: names.map(requires) },
    ];
    const { batchId } = await client.submit(batch);
    const drawnMs = await driver.gotoGraph(batchId!);
    const nodes = await driver.read<{ id: string; place: unknown }[]>('window.__heddle.nodes()');
    assert.equal(nodes.length, 3);
    const group = nodes.find(({ id }) => id.startsWith('group:'))!;

    await driver.clickTask(group.id);
    const panel = page.getByTestId('details');
    await panel.getByRole('heading', { name: 'Hash part …' }).waitFor();
    await panel.getByRole('img', { name: /10,000 waiting/ }).waitFor();
    await page.getByTestId('signal').getByText('Live').waitFor();

    await driver.read('(window.__shown = window.__heddle.drawnAtMs)');
    for (const plan of await claim('wide-plan')) await complete(plan);
    await panel.getByRole('img', { name: /10,000 pending/ }).waitFor();
    const claimed = await claim('wide-part', 3);
    await complete(claimed[0]!);
    await fail(claimed[1]!, 'disk is full');
    await panel.getByRole('img', { name: /1 succeeded, 1 failed, 1 running, 9,997 pending/ }).waitFor();
    assert.deepEqual(
      await driver.read('window.__heddle.nodes().map(({ id, place }) => ({ id, place }))'),
      nodes.map(({ id, place }) => ({ id, place })),
      'nothing has moved',
    );
    assert.equal(await driver.read('window.__shown === window.__heddle.drawnAtMs'), true, 'it was not laid out again');

    await panel.getByRole('button', { name: /^Failed 1$/ }).click();
    await panel.getByRole('button', { name: /disk is full/ }).click();
    await page.getByRole('note', { name: 'Reason' }).getByText('disk is full').waitFor();
    await panel.getByRole('button', { name: '‹ Hash part …' }).click();

    const startedAt = performance.now();
    await page.keyboard.press('/');
    await page.keyboard.type('part 9876');
    await page.keyboard.press('Enter');
    await page.getByTestId('task-name').getByText('Hash part 9876').waitFor();
    console.log(
      `# drawn after ${Math.round(drawnMs)} ms, one found in ${Math.round(performance.now() - startedAt)} ms`,
    );
  }));

test('Enter draws a group one by one and as one again; siblings that are few are drawn at once', () =>
  withPage(async (driver) => {
    const { page } = driver;
    const parts = Array.from({ length: 30 }, (_, i) => ({ name: `Part ${i}`, kind: 'unfolded' }));
    const pair = ['left', 'right'].map((name) => ({ name, kind: 'pair' }));
    const { batchId } = await client.submit([...parts, ...pair]);
    await driver.gotoGraph(batchId!);
    const nodes = (): Promise<{ id: string }[]> => driver.read('window.__heddle.nodes()');
    const group = (await nodes()).find(({ id }) => id.startsWith('group:'))!;
    assert.equal((await nodes()).length, 3);
    await driver.clickTask(group.id);
    await page.getByTestId('canvas').focus();
    await page.keyboard.press('Enter');
    await eventually('each is drawn', async () => ((await nodes()).length === 32 ? true : undefined));
    await driver.button('Draw as one');
    await eventually('they are one again', async () => ((await nodes()).length === 3 ? true : undefined));
    await page.keyboard.press('Escape');
  }));
