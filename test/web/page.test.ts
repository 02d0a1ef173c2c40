import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/web/browser.ts';
import { emptyBatch, everyState, fixtureId, hostile, layeredBatch } from '../support/web/fixture-batches.ts';
import { FixtureServer } from '../support/web/fixture-server.ts';
import { PageDriver, eventually } from '../support/web/page-driver.ts';
import { pageScenarios } from '../support/web/scenarios.ts';
import type { PageTarget } from '../support/web/scenarios.ts';

const MIXED = 1;
const HOSTILE = 2;
const LARGE = 3;
const EMPTY = 4;
const LARGE_COUNT = 5000;

const server = new FixtureServer();
let browser: Browser;
let target: PageTarget;

before(async () => {
  browser = await launchBrowser();
  // Tests of the page use the current sources, even when this file is run by itself.
  execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/build-page.ts')], { stdio: 'inherit' });
  await server.start();
});

after(async () => {
  await browser.close();
  await server.stop();
});

beforeEach(() => {
  server.token = null;
  server.withoutStreams = false;
  server.refusal = null;
  server.operations.length = 0;
  server.batches.clear();
  const mixed = everyState(MIXED);
  const dangerous = hostile(HOSTILE);
  for (const batch of [mixed, dangerous, layeredBatch(LARGE, LARGE_COUNT, 250), emptyBatch(EMPTY)]) {
    server.batches.set(batch.id, batch);
  }
  target = {
    url: server.url,
    mixed: {
      batchId: mixed.id,
      title: mixed.name!,
      tasks: new Map(mixed.tasks.map(({ name, id, status }) => [name, { id, status }])),
    },
    hostile: { batchId: dangerous.id, taskId: dangerous.tasks[0]!.id, markup: dangerous.tasks[0]!.name },
    large: { batchId: fixtureId(LARGE, 0), taskCount: LARGE_COUNT },
    finishTask: (taskId) => {
      server.change(mixed.id, [taskId], { status: 'Success', ended_at: new Date().toISOString() });
      return Promise.resolve();
    },
  };
});

pageScenarios(
  () => browser,
  () => target,
);

async function withPage(run: (driver: PageDriver) => Promise<void>): Promise<void> {
  const driver = await PageDriver.open(browser, server.url);
  try {
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

const mixedId = fixtureId(MIXED, 0);
const runningId = fixtureId(MIXED, 3);
const failedId = fixtureId(MIXED, 4);

test('a 401 shows a login; a wrong token is rejected with a message, the right one continues', () =>
  withPage(async (driver) => {
    server.token = 'right';
    await driver.goto(`/runs/${mixedId}`);
    await driver.page.getByRole('heading', { name: 'Log in' }).waitFor();
    await driver.page.getByLabel('Token').fill('wrong');
    await driver.button('Log in');
    await driver.page.getByText('Invalid token').waitFor();
    await driver.page.getByLabel('Token').fill('right');
    await driver.button('Log in');
    await driver.drawn();
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    await driver.page.reload();
    await driver.drawn();
    await driver.page.getByRole('button', { name: /^User / }).click();
    await driver.page.getByRole('menuitem', { name: 'Log out' }).click();
    await driver.page.getByRole('heading', { name: 'Log in' }).waitFor();
    assert.equal(await driver.read('sessionStorage.length'), 0);
  }));

test('canceling asks for confirmation; pause, resume and retry send their operations', () =>
  withPage(async (driver) => {
    await driver.gotoGraph(mixedId);
    await driver.clickTask(runningId);
    await driver.button('Cancel task');
    await driver.page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
    await driver.page.getByRole('dialog').waitFor({ state: 'detached' });
    await driver.button('Pause');
    await driver.waitForColour(runningId, 'Paused');
    await driver.button('Resume');
    await driver.waitForColour(runningId, 'Pending');
    await driver.button('Cancel task');
    await driver.page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click();
    await driver.waitForColour(runningId, 'Canceled');
    // A canceled task can be retried, too: its button must be gone.
    await driver.clickTask(failedId);
    await driver.showsTask('Hash docs');
    await driver.button('Retry');
    await driver.waitForColour(failedId, 'Pending');
    assert.deepEqual(server.operations, [
      `PATCH /task/pause/${runningId}`,
      `PATCH /task/resume/${runningId}`,
      `DELETE /task/${runningId}`,
      `POST /v1/tasks/${failedId}/retry`,
    ]);
  }));

test("a rejected operation shows the server's message", () =>
  withPage(async (driver) => {
    await driver.gotoGraph(mixedId);
    await driver.clickTask(runningId);
    server.refusal = {
      status: 409,
      error: 'The task is not in a state that allows this',
      details: ['status: is Success'],
    };
    await driver.button('Cancel task');
    const dialog = driver.page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel task' }).click();
    const problem = dialog.getByRole('alert');
    await problem.getByText('The task is not in a state that allows this').waitFor();
    await problem.getByText('status: is Success').waitFor();
  }));

test('an unavailable server is reported, and missed changes are caught up', () =>
  withPage(async (driver) => {
    await driver.gotoGraph(mixedId);
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    await server.stop();
    await driver.page.getByText('Last updated at').waitFor();
    await driver.page.getByTestId('signal').getByText('Reconnecting').waitFor();
    server.change(mixedId, [runningId], { status: 'Failure', failure_reason: 'while away' });
    await server.start();
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    await driver.waitForColour(runningId, 'Failure');
    assert.equal(await driver.page.getByText('Last updated at').count(), 0);
    await eventually('one listener only', () => Promise.resolve(server.listeners(mixedId) === 1 ? true : undefined));
  }));

test('the end of a batch is shown, and an empty batch explained', () =>
  withPage(async (driver) => {
    await driver.gotoGraph(mixedId);
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    const ids = server.batches.get(mixedId)!.tasks.map((task) => task.id);
    server.change(mixedId, ids, { status: 'Success', ended_at: new Date().toISOString() });
    server.end(mixedId);
    await driver.page.getByTestId('signal').getByText('Finished').waitFor();
    await driver.page.getByText('10 of 10 tasks ended').waitFor();
    await driver.goto(`/runs/${fixtureId(EMPTY, 0)}`);
    await driver.page.getByText('This batch has no tasks').waitFor();
  }));

test('a retry reopens a completed batch, and the page follows it again', () =>
  withPage(async (driver) => {
    const batch = server.batches.get(mixedId)!;
    for (const task of batch.tasks) if (task.id !== failedId) task.status = 'Success';
    batch.ended_at = new Date().toISOString();
    await driver.gotoGraph(mixedId);
    await driver.page.getByTestId('signal').getByText('Finished').waitFor();
    await driver.clickTask(failedId);
    batch.ended_at = null;
    await driver.button('Retry');
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    server.change(mixedId, [failedId], { status: 'Running' });
    await driver.waitForColour(failedId, 'Running');
  }));

test('auto-refresh rereads the whole batch every few seconds', () =>
  withPage(async (driver) => {
    await driver.ownClock();
    await driver.gotoGraph(mixedId);
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    const task = server.batches.get(mixedId)!.tasks.find((one) => one.id === runningId)!;
    // Changed without an event: only a read can show it.
    Object.assign(task, { status: 'Failure', last_updated: new Date().toISOString() });
    await driver.page.getByLabel('Auto-refresh (5 s)').check();
    await driver.passSeconds(5);
    await driver.waitForColour(runningId, 'Failure');
  }));

test('a server without streams is polled every few seconds instead', () =>
  withPage(async (driver) => {
    server.withoutStreams = true;
    await driver.ownClock();
    await driver.gotoGraph(mixedId);
    await driver.page.getByTestId('signal').getByText('Every 5 s').waitFor();
    server.change(mixedId, [runningId], { status: 'Failure' });
    await driver.passSeconds(5);
    await driver.waitForColour(runningId, 'Failure');
    await server.stop();
    await driver.passSeconds(5);
    await driver.page.getByText('Last updated at').waitFor();
    await server.start();
    await driver.page.getByTestId('signal').getByText('Every 5 s').waitFor();
  }));

test('the dark theme repaints the graph and is kept', () =>
  withPage(async (driver) => {
    await driver.gotoGraph(mixedId);
    const light = await driver.stateColour('Failure');
    await driver.button('Theme');
    await driver.page.getByRole('menuitem', { name: 'Dark' }).click();
    assert.notEqual(await driver.stateColour('Failure'), light);
    await driver.waitForColour(failedId, 'Failure');
    await driver.page.reload();
    await driver.drawn();
    assert.equal(await driver.read('document.documentElement.dataset.theme'), 'dark');
    await driver.waitForColour(failedId, 'Failure');
  }));
