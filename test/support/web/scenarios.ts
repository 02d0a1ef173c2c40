import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser } from 'playwright-core';
import { PageDriver, eventually } from './page-driver.ts';

/** What the scenarios need of a server, the stand-in or the real one. */
export interface PageTarget {
  url: string;
  /** A batch with tasks in several states, by name, so that scenarios can refer to them. */
  mixed: { batchId: string; title: string | null; tasks: Map<string, { id: string; status: string }> };
  /** Its only task has markup as its name, kind and metadata. */
  hostile: { batchId: string; taskId: string; markup: string };
  large: { batchId: string; taskCount: number };
  /** Ends a running task of the mixed batch without the page. */
  finishTask(taskId: string): Promise<void>;
}

/** Registers the scenarios that apply to any server. */
export function pageScenarios(getBrowser: () => Browser, getTarget: () => PageTarget): void {
  const withPage = (scheme: 'light' | 'dark', run: (driver: PageDriver, target: PageTarget) => Promise<void>) => {
    return async (): Promise<void> => {
      const target = getTarget();
      const driver = await PageDriver.open(getBrowser(), target.url, scheme);
      try {
        await run(driver, target);
        assert.deepEqual(driver.complaints, [], 'the page runs without errors and within its content policy');
      } finally {
        await driver.close();
      }
    };
  };
  graphScenarios(withPage);
  safetyScenarios(withPage);
}

type WithPage = (
  scheme: 'light' | 'dark',
  run: (driver: PageDriver, target: PageTarget) => Promise<void>,
) => () => Promise<void>;

function taskNamed(target: PageTarget, name: string): { id: string; status: string } {
  const task = target.mixed.tasks.get(name);
  assert.ok(task, `the mixed batch has a task ${name}`);
  return task;
}

function graphScenarios(withPage: WithPage): void {
  for (const scheme of ['light', 'dark'] as const) {
    test(
      `every card is painted in its state's color (${scheme})`,
      withPage(scheme, async (driver, target) => {
        await driver.gotoGraph(target.mixed.batchId);
        for (const { id, status } of target.mixed.tasks.values()) await driver.waitForColour(id, status);
        const background = await driver.read<string>('getComputedStyle(document.body).backgroundColor');
        const brightness = Number(/\d+/.exec(background)?.[0]);
        assert.ok(
          scheme === 'dark' ? brightness < 60 : brightness > 200,
          `the background suits ${scheme}: ${background}`,
        );
      }),
    );
  }

  test(
    'a click on a card shows the task with its parents and children',
    withPage('light', async (driver, target) => {
      await driver.gotoGraph(target.mixed.batchId);
      await driver.clickTask(taskNamed(target, 'Aggregate').id);
      await driver.showsTask('Aggregate');
      const details = driver.page.getByTestId('details');
      await details.getByText('Why it is not running').waitFor();
      assert.match(driver.page.url(), new RegExp(taskNamed(target, 'Aggregate').id), 'the address names it');
      await details.getByText('Depends on').waitFor();
      await details.getByRole('button', { name: /^Report/ }).click();
      await driver.showsTask('Report');
    }),
  );

  test(
    'zoom in, zoom out and fit change the view, and fit restores it',
    withPage('light', async (driver, target) => {
      await driver.gotoGraph(target.mixed.batchId);
      const start = await driver.view();
      await driver.button('Zoom in');
      assert.ok((await driver.view()).zoom > start.zoom);
      await driver.button('Zoom out');
      await driver.button('Zoom out');
      assert.ok((await driver.view()).zoom < start.zoom);
      await driver.button('Fit');
      assert.deepEqual(await driver.view(), start);
    }),
  );

  test(
    'everything is reachable by keyboard: search, select, move to a neighbor, pan',
    withPage('light', async (driver, target) => {
      await driver.gotoGraph(target.mixed.batchId);
      await driver.page.keyboard.press('/');
      await driver.page.keyboard.type('aggre');
      await driver.page.keyboard.press('Enter');
      await driver.showsTask('Aggregate');
      await driver.page.getByTestId('canvas').focus();
      await driver.page.keyboard.press('ArrowRight');
      await driver.showsTask('Report');
      await driver.page.keyboard.press('Escape');
      const before = await driver.view();
      await driver.page.keyboard.press('ArrowRight');
      assert.ok((await driver.view()).x < before.x);
    }),
  );

  test(
    'the legend counts the states and filters by them',
    withPage('light', async (driver, target) => {
      await driver.gotoGraph(target.mixed.batchId);
      const waiting = [...target.mixed.tasks.values()].filter((task) => task.status === 'Waiting');
      await driver.page.getByRole('button', { name: new RegExp(`^Waiting ${waiting.length}$`) }).click();
      const shown = await eventually('the others fade', async () => {
        const ids = await driver.read<string[]>(
          'window.__heddle.nodes().filter(({ dimmed }) => !dimmed).map(({ id }) => id)',
        );
        return ids.length < target.mixed.tasks.size ? ids : undefined;
      });
      assert.deepEqual(shown.sort(), waiting.map((task) => task.id).sort());
      const rows = driver.page.locator('.task-list li');
      await eventually('they are listed', async () => ((await rows.count()) === waiting.length ? true : undefined));
    }),
  );

  test(
    'a change on the server recolors the card without a reload or a new layout',
    withPage('light', async (driver, target) => {
      await driver.gotoGraph(target.mixed.batchId);
      await driver.page.getByTestId('signal').getByText('Live').waitFor();
      const running = taskNamed(target, 'Hash test');
      await driver.waitForColour(running.id, 'Running');
      await driver.read('(window.__notReloaded = true)');
      const before = await driver.view();
      await target.finishTask(running.id);
      await driver.waitForColour(running.id, 'Success');
      assert.equal(await driver.read('window.__notReloaded'), true);
      assert.deepEqual(await driver.view(), before);
    }),
  );

  test(
    'a large batch becomes usable',
    withPage('light', async (driver, target) => {
      const { batchId, taskCount } = target.large;
      const drawnMs = await driver.gotoGraph(batchId);
      const nodes = await driver.read<{ id: string; place: { x: number; y: number } }[]>('window.__heddle.nodes()');
      assert.equal(nodes.length, taskCount, 'no task is like another');
      const last = nodes.at(-1)!.id;
      const startedAt = performance.now();
      await driver.page.getByLabel('Find tasks by name, kind or ID').fill(last);
      await driver.page.keyboard.press('Enter');
      await driver.page.getByTestId('details').getByText(last).waitFor();
      const foundMs = performance.now() - startedAt;
      await driver.button('Fit');
      const places = new Set(nodes.map(({ place: { x, y } }) => `${Math.round(x / 10)} ${Math.round(y / 10)}`));
      assert.equal(places.size, taskCount, 'no card lies on another');
      console.log(
        `# ${taskCount} tasks: drawn ${Math.round(drawnMs)} ms after navigation, one found in ${Math.round(foundMs)} ms`,
      );
    }),
  );
}

function safetyScenarios(withPage: WithPage): void {
  test(
    'names, kinds, reasons and metadata are text, never markup',
    withPage('light', async (driver, target) => {
      const { batchId, taskId, markup } = target.hostile;
      await driver.gotoGraph(batchId);
      await driver.clickTask(taskId);
      await driver.showsTask(markup);
      await driver.tab('Input');
      assert.ok((await driver.text('metadata')).includes(JSON.stringify(markup)));
      assert.equal(await driver.page.locator('#root img:not([alt=""])').count(), 0);
      assert.equal(await driver.page.locator('#root script').count(), 0);
      await driver.goto('/');
      await driver.page.getByRole('heading', { name: 'Home' }).waitFor();
      assert.equal(await driver.read('window.__attacked'), undefined);
    }),
  );

  test(
    'an unknown run is explained, and addresses of earlier versions still lead to a run',
    withPage('light', async (driver, target) => {
      const unknown = '01970000-ffff-7000-8000-000000000000';
      await driver.goto(`/view?batch=${unknown}`);
      await driver.page.getByRole('heading', { name: 'No such run' }).waitFor();
      await driver.page.waitForURL(`**/runs/${unknown}`);
      await driver.goto('/view?batch=no-such-id');
      await driver.page.getByRole('heading', { name: 'No such run' }).waitFor();
      const { batchId, title } = target.mixed;
      await driver.goto(`/view?batch=${batchId}`);
      await driver.page.waitForURL(`**/runs/${batchId}`);
      await driver.drawn();
      if (title !== null) await driver.page.getByRole('heading', { name: title, exact: true }).waitFor();
      await driver.goto('/view');
      await driver.page.waitForURL('**/runs');
    }),
  );
}
