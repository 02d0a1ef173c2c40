/** What the console changes in tasks and runs: each operation through the page, against a real server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  changesOf,
  complete,
  confirm,
  ConsoleBench,
  editor,
  faultsOf,
  nextRun,
  until,
  write,
} from '../support/web/console-bench.ts';

let bench: ConsoleBench;

before(async () => {
  bench = await ConsoleBench.start();
});

after(() => bench.stop());

test('the editor names faults with their lines, completes from the schema, and lets the keyboard leave', () =>
  bench.withPage(async (page, driver) => {
    await driver.goto('/submit');
    await page.getByLabel('Kind', { exact: true }).fill('resize');
    await page.getByText('Resizes an image.').waitFor();
    await write(page, 'Input', '{\n  "mode": "fat",\n  "nope": 1\n}');
    const faults = faultsOf(page, 'Input');
    await faults.getByText('nope: is not a known member').waitFor();
    const listed = (await faults.getByRole('listitem').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    assert.deepEqual(listed, [
      'Line 1 width: is required',
      'Line 2 mode: must be one of "fit", "fill"',
      'Line 3 nope: is not a known member',
    ]);
    await faults.getByRole('button', { name: 'Line 3' }).click();
    // The editor shows a little later that it has the focus.
    await page.locator('.cm-editor.cm-focused').waitFor();
    await write(page, 'Input', '{\n  "width": 3\n');
    await faults.getByText(/The text ends too early/).waitFor();
    await write(page, 'Input', '{}');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Control+Space');
    await page.getByRole('option', { name: /width/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.type('"mo');
    await page.getByRole('option', { name: /mode/, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await complete(page, '"fill"');
    await until('the value is completed', async () =>
      (await editor(page, 'Input').innerText()).includes('"mode": "fill"'),
    );
    // Tab stays inside; Escape and then Tab leaves.
    const isInside = () => driver.read<boolean>(`document.activeElement.closest('.cm-editor') !== null`);
    await page.keyboard.press('Tab');
    assert.equal(await isInside(), true);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    assert.equal(await isInside(), false);
  }));

test('a failed task is retried with another input, which is checked before and by the server', () =>
  bench.withPage(async (page, driver) => {
    const [task] = await bench.submit([{ name: 'shrink', kind: 'resize', metadata: { width: 5 } }]);
    await bench.failAll('resize', 'no such image');
    await driver.goto(`/tasks/${task!.id}`);
    await driver.button('Retry with…');
    await page.getByRole('menuitem', { name: 'Changed input…' }).click();
    await until('the editor has the input', async () =>
      (await editor(page, 'Input').innerText()).includes('"width": 5'),
    );
    await write(page, 'Input', { width: 0 });
    await faultsOf(page, 'Input')
      .getByText(/width.*1/)
      .waitFor();
    await confirm(page, 'Retry');
    await page
      .getByRole('alert')
      .getByText(/input\.width/)
      .waitFor();
    await write(page, 'Input', { width: 7, mode: 'fit' });
    await confirm(page, 'Retry');
    await page.getByText('Queued for another attempt').waitFor();
    const { status, metadata } = await bench.task(task!.id);
    assert.deepEqual([status, metadata], ['Pending', { width: 7, mode: 'fit' }]);
  }));

test('a retry from a task says what it runs again, and the summary what the task holds up', () =>
  bench.withPage(async (page, driver) => {
    const tasks = await bench.submit([
      { id: 'a', name: 'extract', kind: 'after-a' },
      ...['transform', 'load'].map((name) => ({ name, kind: 'after-b', dependencies: [{ id: 'a' }] })),
    ]);
    await bench.failAll('after-a', 'out of paper');
    await driver.goto(`/tasks/${tasks[0]!.id}`);
    const held = page.getByTestId('held-up');
    await held.getByText('2 tasks after it wait, or failed because of what is before.').waitFor();
    await held.getByRole('link', { name: 'transform' }).waitFor();
    await driver.button('Retry with…');
    await page.getByRole('menuitem', { name: 'Everything after it…' }).click();
    await page.getByText(/2 tasks after it, also what succeeded/).waitFor();
    await confirm(page, 'Retry');
    await page.getByText('Queued, with everything after it').waitFor();
    assert.equal((await bench.task(tasks[0]!.id)).status, 'Pending');
    assert.equal((await bench.task(tasks[1]!.id)).status, 'Waiting');
  }));

test('a run is started again as it was or with another input, and shows its definition', () =>
  bench.withPage(async (page, driver) => {
    const [first] = await bench.submit([{ name: 'shrink', kind: 'resize', metadata: { width: 5 } }], 'pictures');
    await driver.goto(`/runs/${first!.batch_id}?view=tasks`);
    await driver.button('Definition');
    await page.getByTestId('definition').getByText('"width": 5').waitFor();
    const saved = page.waitForEvent('download');
    await driver.button('Download');
    assert.equal((await saved).suggestedFilename(), 'pictures.json');
    await driver.button('Close');
    await driver.button('Run again…');
    await confirm(page, 'Run again');
    const second = await nextRun(page, first!.batch_id);
    assert.deepEqual((await bench.tasksOf(second))[0]!.metadata, { width: 5 });
    await driver.button('Run again…');
    await driver.button('With changed input');
    await write(page, 'Input of shrink', { width: 'wide' });
    await faultsOf(page, 'Input of shrink').getByText(/width/).waitFor();
    await write(page, 'Input of shrink', { width: 9 });
    await confirm(page, 'Run again');
    const third = await nextRun(page, second);
    assert.deepEqual((await bench.tasksOf(third))[0]!.metadata, { width: 9 });
  }));

test('a batch is paused, resumed, canceled and retried as a whole', () =>
  bench.withPage(async (page, driver) => {
    const tasks = await bench.submit(
      ['a', 'b'].map((name) => ({ name, kind: 'whole' })),
      'whole',
    );
    await driver.goto(`/runs/${tasks[0]!.batch_id}?view=tasks`);
    for (const [button, verb, state] of [
      ['Pause batch', 'Pause batch', 'Paused'],
      ['Resume batch', 'Resume batch', 'Pending'],
      ['Cancel batch', 'Cancel batch', 'Canceled'],
      ['Retry batch', 'Retry batch', 'Pending'],
    ] as const) {
      await page.getByRole('main').getByRole('button', { name: button, exact: true }).click();
      await confirm(page, verb);
      await until(`tasks are ${state}`, async () => {
        const states = await Promise.all(tasks.map(async ({ id }) => (await bench.task(id)).status));
        return states.every((each) => each === state);
      });
    }
  }));

test('a selection of tasks changes in one request, and says what did not change and why', () =>
  bench.withPage(async (page, driver) => {
    const tasks = await bench.submit(['a', 'b', 'c'].map((name) => ({ name, kind: 'chosen' })));
    const sent = changesOf(page);
    await driver.goto(`/runs/${tasks[0]!.batch_id}?view=tasks`);
    await page.getByRole('checkbox', { name: 'Select all' }).check();
    const bar = page.getByRole('region', { name: 'Selected tasks' });
    // One of them ends while the request is on its way: any earlier, the page might see it and leave it out.
    await page.route('**/v1/tasks/bulk', async (route) => {
      await bench.send('DELETE', `/task/${tasks[1]!.id}`);
      await route.continue();
    });
    await bar.getByRole('button', { name: 'Cancel 3' }).click();
    await confirm(page, 'Cancel tasks');
    await page.getByText('2 of 3 tasks canceled').waitFor();
    await page.getByText(/1 unchanged: The task is Canceled: it cannot be canceled/).waitFor();
    assert.deepEqual(sent, ['POST /v1/tasks/bulk']);
  }));

test('a selection of runs changes in one request', () =>
  bench.withPage(async (page, driver) => {
    const ids: string[] = [];
    for (const name of ['bulk one', 'bulk two']) ids.push((await bench.submit([{ name, kind: 'bulk' }], name))[0]!.id);
    const sent = changesOf(page);
    await driver.goto('/runs?kind=bulk');
    await page.getByRole('link', { name: 'bulk two' }).waitFor();
    await page.getByRole('checkbox', { name: 'Select all' }).check();
    await page.getByRole('region', { name: 'Selected runs' }).getByRole('button', { name: 'Cancel 2' }).click();
    await confirm(page, 'Cancel runs');
    await page.getByText('2 runs canceled').waitFor();
    assert.deepEqual(sent, ['POST /v1/runs/bulk']);
    assert.equal((await bench.task(ids[0]!)).status, 'Canceled');
  }));

test('tasks that fail alike are retried in one request, and lead to their runs', () =>
  bench.withPage(async (page, driver) => {
    await bench.submit(
      ['a', 'b'].map((name) => ({ name, kind: 'alike' })),
      'all alike',
    );
    await bench.failAll('alike', 'the printer is on fire');
    const sent = changesOf(page);
    await driver.goto('/');
    const row = page.getByTestId('failing').getByRole('row').filter({ hasText: 'the printer is on fire' });
    await row.getByRole('link', { name: 'Runs with this failure: 1' }).click();
    await page.waitForURL('**/runs?fingerprint=*');
    await page.getByRole('link', { name: 'all alike' }).waitFor();
    assert.equal(await page.getByRole('table', { name: 'Runs' }).locator('tbody tr').count(), 1);
    assert.match(await page.getByRole('combobox', { name: /^Failing/ }).innerText(), /printer is on fire/);
    await page.goBack();
    await row.getByRole('link', { name: /printer/ }).click();
    await page.getByRole('checkbox', { name: 'Select all' }).check();
    await driver.button('Retry 2 selected');
    await confirm(page, 'Retry');
    await page.getByText('2 tasks retried').waitFor();
    assert.deepEqual(sent, ['POST /v1/tasks/bulk']);
  }));
