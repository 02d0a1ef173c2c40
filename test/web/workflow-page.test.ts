/** The page of workflows in a real browser, with canned responses. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/web/browser.ts';
import { FixtureServer } from '../support/web/fixture-server.ts';
import { FixtureWorkflowApi } from '../support/web/fixture-workflow-api.ts';
import {
  TreeBuilder,
  crowdedWorkflow,
  deepWorkflow,
  scanWorkflow,
  wideWorkflow,
} from '../support/web/fixture-workflows.ts';
import type { FixtureNode, FixtureWorkflow } from '../support/web/fixture-workflows.ts';
import { PageDriver, eventually } from '../support/web/page-driver.ts';

const WIDE_COUNT = 100_000;
const MARKUP = '<img src=x onerror="window.__attacked=true">';

const server = new FixtureServer();
const api = new FixtureWorkflowApi();
// Created once: it is large, and no test changes it.
const wide = wideWorkflow(2, WIDE_COUNT);
let browser: Browser;
let scan: FixtureWorkflow;

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/build-page.ts')], { stdio: 'inherit' });
  server.apis.push(api);
  await server.start();
});

after(async () => {
  await browser.close();
  await server.stop();
});

beforeEach(() => {
  server.operations.length = 0;
  server.refusal = null;
  api.clear();
  scan = scanWorkflow(1);
  for (const workflow of [scan, wide]) api.workflows.set(workflow.id, workflow);
});

async function withPage(run: (driver: PageDriver) => Promise<void>): Promise<void> {
  const driver = await PageDriver.open(browser, server.url);
  try {
    await run(driver);
    assert.deepEqual(driver.complaints, []);
  } finally {
    await driver.close();
  }
}

/** The id of a node by its name. */
function named(workflow: FixtureWorkflow, name: string): string {
  const open: FixtureNode[] = [workflow.root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if ((node.type === 'task' ? node.name : node.local_id) === name) return node.id;
    if (node.type === 'container') open.push(...node.children);
  }
  throw new Error(`no node ${name}`);
}

async function openTree(driver: PageDriver, workflow: FixtureWorkflow): Promise<void> {
  api.workflows.set(workflow.id, workflow);
  await driver.goto(`/runs/${workflow.id}`);
  await driver.page.getByTestId('signal').getByText('Live').waitFor();
}

function node(driver: PageDriver, id: string) {
  return driver.page.locator(`[role=treeitem][data-id="${id}"]`);
}

/** A node with everything in it. */
function box(driver: PageDriver, id: string) {
  return driver.page.locator(`[data-node="${id}"]`);
}

function itemCount(driver: PageDriver): Promise<number> {
  return driver.page.getByRole('treeitem').count();
}

/** Position of a node on screen. */
function boxOf(driver: PageDriver, id: string): Promise<{ x: number; y: number; right: number; bottom: number }> {
  return driver.read(`(() => {
    const { x, y, right, bottom } = document.querySelector('[data-node="${id}"]').getBoundingClientRect();
    return { x, y, right, bottom };
  })()`);
}

test('containers are nested: a sequence is a column in order, parallel nodes are side by side', () =>
  withPage(async (driver) => {
    await openTree(driver, scan);
    const [read, scans, write] = await Promise.all(
      ['Read the inventory', 'scans', 'Write the findings'].map((name) => boxOf(driver, named(scan, name))),
    );
    assert.ok(read!.bottom < scans!.y && scans!.bottom < write!.y, 'one below the other');
    const [dns, tls] = await Promise.all(['dns', 'tls'].map((name) => boxOf(driver, named(scan, name))));
    assert.ok(dns!.right < tls!.x && dns!.y === tls!.y, 'one beside the other');
    assert.ok(dns!.x > scans!.x && dns!.bottom < scans!.bottom, 'within what holds them');
    assert.equal(await itemCount(driver), 31);
    const failed = node(driver, named(scan, 'Scan 10.0.3.0/24'));
    assert.equal(await failed.getAttribute('aria-label'), 'Scan 10.0.3.0/24, Failed, TcpSyn');
    await driver.page.getByText('13 of 24').first().waitFor();
  }));

test('a change repaints its node and the counts around it, and renders nothing else again', () =>
  withPage(async (driver) => {
    await openTree(driver, scan);
    const running = named(scan, 'Scan 10.0.9.0/24');
    const colour = (): Promise<string> =>
      driver.read(`getComputedStyle(document.querySelector('[data-id="${running}"] .glyph rect')).fill`);
    const before = await colour();
    await driver.read(`(() => {
      window.__changed = new Set();
      new MutationObserver((records) => {
        for (const { target } of records) {
          const item = (target.nodeType === 1 ? target : target.parentElement).closest('[data-node]');
          // The clocks of running tasks tick by themselves.
          if (item !== null && !item.matches('.s-running.task')) window.__changed.add(item.dataset.node);
        }
      }).observe(document.querySelector('[role=tree]'), { subtree: true, childList: true, characterData: true, attributes: true });
    })()`);
    api.change(scan.id, running, { state: 'Succeeded', status: 'Success', ended_at: new Date().toISOString() });
    await driver.page.getByText('14 of 24').first().waitFor();
    assert.notEqual(await colour(), before);
    const changed = await driver.read<string[]>('[...window.__changed]');
    const around = ['workers', 'tcp', 'scans', 'scan'].map((name) => named(scan, name));
    assert.deepEqual(changed.sort(), [running, ...around].sort());
    assert.equal(api.treesRead, 1, 'the tree was not read again');
  }));

test('nodes created by a generator appear by themselves', () =>
  withPage(async (driver) => {
    await openTree(driver, scan);
    const names = named(scan, 'names');
    await node(driver, names).getByText('0 of 0').waitFor();
    const tree = new TreeBuilder(0x99);
    api.add(scan.id, names, [tree.task('Resolve a', 'Running'), tree.task('Resolve b', 'Pending')]);
    await driver.page.getByRole('treeitem', { name: /^Resolve b/ }).waitFor();
    assert.equal(await itemCount(driver), 33);
  }));

test('100,000 parallel tasks are a group with its counts, opened page by page', () =>
  withPage(async (driver) => {
    const startedAt = performance.now();
    await openTree(driver, wide);
    const shownMs = performance.now() - startedAt;
    assert.equal(await itemCount(driver), 4);
    const parts = named(wide, 'parts');
    await node(driver, parts).getByText('49,000 succeeded').waitFor();
    await node(driver, parts).getByText('1,000 failed').waitFor();
    await node(driver, parts).locator('.twisty').click();
    await box(driver, parts).getByTestId('page-range').getByText('1–100 of 100,000').waitFor();
    assert.equal(await itemCount(driver), 104);
    await driver.button('Last page');
    await driver.page.getByRole('treeitem', { name: /^Part 100000,/ }).waitFor();
    assert.equal(await itemCount(driver), 104);
    await driver.button('Previous page');
    await driver.page.getByRole('treeitem', { name: /^Part 99900,/ }).waitFor();
    api.change(wide.id, named(wide, 'Part 99900'), { state: 'Running', status: 'Running' });
    await driver.page.getByRole('treeitem', { name: /^Part 99900, Running/ }).waitFor();
    console.log(`# ${WIDE_COUNT} tasks: shown in ${Math.round(shownMs)} ms`);
  }));

test('whatever is opened, the page draws at most 2,000 nodes, and says so', () =>
  withPage(async (driver) => {
    const crowd = crowdedWorkflow(3);
    await openTree(driver, crowd);
    assert.equal(await itemCount(driver), 41);
    await driver.read(`(() => {
      for (const twisty of document.querySelectorAll('.twisty')) twisty.click();
    })()`);
    await driver.page.getByText('2,000 nodes are drawn').waitFor();
    assert.equal(await itemCount(driver), 2000);
    const last = box(driver, named(crowd, 'group 40'));
    await last.getByRole('button', { name: 'Focus this group' }).click();
    await driver.page.getByRole('treeitem', { name: /^Task 40\.90,/ }).waitFor();
    assert.equal(await itemCount(driver), 91);
  }));

test('a hundred levels stay usable: found by name, shown in place, and back up', () =>
  withPage(async (driver) => {
    const deep = deepWorkflow(4, 100);
    await openTree(driver, deep);
    assert.ok((await itemCount(driver)) < 20);
    await driver.page.keyboard.press('/');
    await driver.page.keyboard.type('bottom');
    await driver.page.keyboard.press('Enter');
    await driver.showsTask('The bottom');
    const { x, right } = await boxOf(driver, named(deep, 'The bottom'));
    assert.ok(x > 0 && right < 1028, 'it is on the screen');
    const path = driver.page.getByRole('navigation', { name: 'Levels above' });
    await path.getByRole('button', { name: 'level 97' }).click();
    await node(driver, named(deep, 'level 97')).waitFor();
    await path.getByLabel('92 levels between').selectOption({ label: '50: level 50' });
    await node(driver, named(deep, 'Step 50')).waitFor();
    await path.getByRole('button', { name: 'Up one level' }).click();
    await node(driver, named(deep, 'Step 49')).waitFor();
    await path.getByRole('button', { name: 'Whole workflow' }).click();
    await node(driver, named(deep, 'Step 1')).waitFor();
    assert.equal(await path.count(), 0);
  }));

test('the keyboard moves in the tree, opens and closes, selects, and focuses a group', () =>
  withPage(async (driver) => {
    await openTree(driver, scan);
    const { keyboard } = driver.page;
    const at = (): Promise<string> => driver.read("document.activeElement.dataset.id ?? ''");
    await node(driver, scan.id).focus();
    await keyboard.press('ArrowDown');
    assert.equal(await at(), named(scan, 'Read the inventory'));
    await keyboard.press('ArrowDown');
    await keyboard.press('ArrowRight');
    assert.equal(await at(), named(scan, 'tcp'));
    await keyboard.press('ArrowLeft');
    const tcp = node(driver, named(scan, 'tcp'));
    await eventually('it is closed', async () =>
      (await tcp.getAttribute('aria-expanded')) === 'false' ? true : undefined,
    );
    assert.equal(await node(driver, named(scan, 'workers')).count(), 0);
    await keyboard.press('ArrowRight');
    await node(driver, named(scan, 'workers')).waitFor();
    await keyboard.press('Enter');
    await driver.showsTask('tcp');
    assert.equal(await tcp.getAttribute('aria-selected'), 'true');
    await keyboard.press('z');
    await eventually('it is alone', async () => ((await itemCount(driver)) === 18 ? true : undefined));
    await eventually('the keyboard stayed', async () => ((await at()) === named(scan, 'tcp') ? true : undefined));
    await keyboard.press('Backspace');
    await eventually('one level up', async () => ((await itemCount(driver)) === 27 ? true : undefined));
    await eventually('the keyboard stayed', async () => ((await at()) === named(scan, 'tcp') ? true : undefined));
    await keyboard.press('End');
    await keyboard.press('Escape');
    await driver.page.getByRole('complementary', { name: 'Tasks' }).waitFor();
    assert.equal(await driver.page.locator('[role=treeitem][tabindex="0"]').count(), 1, 'one stop for the Tab key');
  }));

test('a click shows a node: what it waits for, its position, its input and its result', () =>
  withPage(async (driver) => {
    await openTree(driver, scan);
    const details = driver.page.getByTestId('details');
    await node(driver, named(scan, 'Put it together')).click();
    await driver.showsTask('Put it together');
    await details.getByText('preceded in its sequence by workers').waitFor();
    assert.match(driver.page.url(), new RegExp(named(scan, 'Put it together')), 'the address names it');
    await details.getByRole('button', { name: 'tcp' }).click();
    await driver.showsTask('tcp');
    await node(driver, named(scan, 'Scan 10.0.3.0/24')).click();
    await details.getByText('503 after 3 tries: <b>overloaded</b>').waitFor();
    await details.getByText('any failure lets its sequence continue').waitFor();
    await node(driver, named(scan, 'Read the inventory')).click();
    await driver.tab('Result');
    await details.getByTestId('result').getByText('3584').waitFor();
    await driver.tab('Input');
    await details.getByTestId('metadata').getByText('place').waitFor();
    await node(driver, named(scan, 'names')).click();
    await details.getByText('waits for "Plan the names" to end').waitFor();
  }));

test('the states filter tasks, and a row leads to its place in the tree', () =>
  withPage(async (driver) => {
    await openTree(driver, scan);
    await driver.page.getByRole('button', { name: /^Timed out 1$/ }).click();
    const rows = driver.page.locator('.task-list li');
    await eventually('one row', async () => ((await rows.count()) === 1 ? true : undefined));
    await node(driver, named(scan, 'tcp')).locator('.twisty').click();
    await rows.first().getByRole('button').click();
    await driver.showsTask('Scan 10.0.5.0/24');
    assert.equal(await node(driver, named(scan, 'Scan 10.0.5.0/24')).getAttribute('aria-selected'), 'true');
  }));

test('operations on the workflow ask for confirmation, send their requests, and show a rejection', () =>
  withPage(async (driver) => {
    await openTree(driver, scan);
    const dialog = driver.page.getByRole('dialog');
    await driver.button('Pause');
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click();
    await driver.confirm('Pause', 'workflow');
    await driver.page.locator('.run-head').getByText('Paused').waitFor();
    await driver.confirm('Resume', 'workflow');
    await driver.page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
    server.refusal = { status: 409, error: 'The workflow is not in a state that allows this', details: [] };
    await driver.confirm('Cancel', 'workflow');
    await dialog.getByRole('alert').getByText('not in a state that allows this').waitFor();
    await driver.button('Cancel workflow');
    await driver.page.getByTestId('signal').getByText('Finished').waitFor();
    await driver.confirm('Retry', 'workflow');
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    const base = `POST /v1/workflows/${scan.id}`;
    assert.deepEqual(server.operations, [
      `${base}/pause`,
      `${base}/resume`,
      `${base}/cancel`,
      `${base}/cancel`,
      `${base}/retry`,
    ]);
  }));

test('an unknown id is explained, and addresses of earlier versions lead to a run', () =>
  withPage(async (driver) => {
    await driver.goto(`/view?workflow=${scan.id}`);
    await driver.page.waitForURL(`**/runs/${scan.id}`);
    await node(driver, scan.id).waitFor();
    api.clear();
    await driver.goto(`/runs/${scan.id}`);
    await driver.page.getByRole('heading', { name: 'No such run' }).waitFor();
  }));

test('names and reasons are text, never markup; a lost connection is reported and caught up', () =>
  withPage(async (driver) => {
    const tree = new TreeBuilder(5);
    const task = tree.task(MARKUP, 'Running', { kind: MARKUP, reason: MARKUP });
    const hostile = tree.finish(MARKUP, tree.sequence(MARKUP, 'Running', [task], { reason: MARKUP }));
    await openTree(driver, hostile);
    await node(driver, task.id).click();
    await driver.showsTask(MARKUP);
    await server.stop();
    await driver.page.getByText('Last updated at').waitFor();
    task.state = 'Failed';
    task.last_updated = new Date().toISOString();
    await server.start();
    await driver.page.getByTestId('signal').getByText('Live').waitFor();
    await eventually('it is repainted', async () =>
      (await node(driver, task.id).getAttribute('class'))?.includes('s-failed') === true ? true : undefined,
    );
    assert.equal(await driver.read('window.__attacked'), undefined);
    assert.equal(await driver.page.locator('#root img:not([alt=""])').count(), 0);
    await eventually('one listener only', () => Promise.resolve(api.listeners(hostile.id) === 1 ? true : undefined));
  }));
