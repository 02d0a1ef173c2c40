/** Submitting from the console, and its settings: each through the page, against a real server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newSecretKey } from '@heddle/base/keyring';
import {
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
  bench = await ConsoleBench.start({ flags: { HEDDLE_SECRET_KEYS: newSecretKey() } });
});

after(() => bench.stop());

test('a task is submitted by a form; what the server refuses stands at its field', () =>
  bench.withPage(async (page, driver) => {
    await driver.goto('/');
    await page.getByRole('main').getByRole('link', { name: 'Submit a run' }).click();
    await page.getByLabel('Kind', { exact: true }).fill('resize');
    await page.getByLabel('Name', { exact: true }).fill('one picture');
    await page.getByLabel('Name of the run').fill('pictures');
    await page.getByText('Priority, delay, timeout, attempts').click();
    await page.getByLabel('Priority', { exact: true }).fill('5000');
    await write(page, 'Input', { width: 3 });
    await driver.button('Submit task');
    const field = page.locator('.form-field').filter({ has: page.getByLabel('Priority', { exact: true }) });
    await field.getByText(/1000/).waitFor();
    assert.equal(await page.getByLabel('Priority', { exact: true }).getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Priority', { exact: true }).fill('7');
    await driver.button('Submit task');
    const run = await nextRun(page);
    const [task] = await bench.tasksOf(run);
    assert.deepEqual(
      [task!.kind, task!.name, task!.priority, task!.metadata],
      ['resize', 'one picture', 7, { width: 3 }],
    );
    await page.getByRole('link', { name: 'pictures' }).waitFor();
  }));

test('a workflow is written as JSON: inputs are checked by their kinds, the server judges the rest at its line', () =>
  bench.withPage(async (page, driver) => {
    await driver.goto('/submit?as=workflow');
    const root = (children: object[]) => ({ name: 'pictures', root: { mode: 'sequential', children } });
    await write(page, 'Workflow', root([{ id: 'a', kind: 'resize', input: { width: 'wide' }, polcy: 'x' }]));
    const faults = faultsOf(page, 'Workflow');
    await faults.getByText(/root\.children\[0\]\.input\.width: must be integer/).waitFor();
    await faults.getByText(/root\.children\[0\]\.polcy: is not a known member/).waitFor();
    // Two nodes of one name: only the server looks at that.
    const twice = root([
      { id: 'a', kind: 'resize', input: { width: 1 } },
      { id: 'a', kind: 'resize', input: { $expr: 'workflow.name' } },
    ]);
    await write(page, 'Workflow', twice);
    await until('nothing is marked', async () => (await faults.innerText()) === '');
    await driver.button('Submit workflow');
    await faults.getByText(/root\.children\[1\]\.id/).waitFor();
    await faults.getByRole('button', { name: /^Line/ }).first().click();
    await write(page, 'Workflow', root([{ id: 'a', kind: 'resize', input: { width: 1 } }]));
    await until('it is about the text that was sent', async () => (await faults.innerText()) === '');
    await driver.button('Submit workflow');
    const run = await nextRun(page);
    assert.deepEqual((await bench.tasksOf(run))[0]!.metadata, { width: 1 });
  }));

test('a run is copied, changed and submitted; members and kinds are completed', () =>
  bench.withPage(async (page, driver) => {
    const [first] = await bench.submit(
      [
        { id: 'a', name: 'load', kind: 'resize', metadata: { width: 2 } },
        { name: 'report', kind: 'report', dependencies: [{ id: 'a' }] },
      ],
      'to copy',
    );
    await driver.goto(`/runs/${first!.batch_id}?view=tasks`);
    await driver.button('Definition');
    await page.getByRole('link', { name: 'Change and submit' }).click();
    await until('the definition is in the editor', async () =>
      (await editor(page, 'Batch').innerText()).includes('"load"'),
    );
    assert.equal(await page.getByLabel('Name of the batch').inputValue(), 'to copy');
    const text = '[\n  { "name": "load", "kind": "" }\n]';
    await write(page, 'Batch', text);
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('res');
    await complete(page, '"resize"');
    await page.keyboard.type(', "meta');
    await complete(page, /metadata/);
    await complete(page, /width/);
    await page.keyboard.type('4');
    await driver.button('Submit batch');
    const run = await nextRun(page, first!.batch_id);
    assert.deepEqual((await bench.tasksOf(run))[0]!.metadata, { width: 4 });
  }));

test('everything can be submitted at the width of a phone', () =>
  bench.withPage(async (page, driver) => {
    await driver.goto('/submit?as=batch');
    await write(page, 'Batch', [{ name: 'from a phone', kind: 'resize', metadata: { width: 1 } }]);
    assert.ok(await driver.read<boolean>('document.documentElement.scrollWidth <= innerWidth'));
    await driver.button('Submit batch');
    assert.equal((await bench.tasksOf(await nextRun(page)))[0]!.name, 'from a phone');
  }, 390));

test('a token is created, shown once, and revoked', () =>
  bench.withPage(async (page, driver) => {
    await driver.goto('/settings');
    await driver.button('Create token…');
    await page.getByRole('textbox', { name: 'Name' }).fill('ci');
    await page.getByRole('checkbox', { name: /^submit / }).check();
    await confirm(page, 'Create token');
    const token = await page.getByTestId('token').innerText();
    assert.match(token, /^hdl_/);
    await confirm(page, 'Done');
    assert.ok(!(await page.content()).includes(token));
    const row = page.getByRole('table', { name: 'Tokens' }).getByRole('row').filter({ hasText: 'ci' });
    await row.getByText('read, submit').waitFor();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await confirm(page, 'Revoke token');
    await row.getByText('revoked').waitFor();
  }));

test('a secret is created, replaced and deleted, and its value is not shown', () =>
  bench.withPage(async (page, driver) => {
    await driver.goto('/settings');
    await driver.button('Create secret…');
    await page.getByRole('textbox', { name: 'Name' }).fill('api_key');
    await page.getByLabel('Value').fill('s3cret-value');
    await page.getByLabel('Granted to').fill('resize, https://api.example.com');
    await confirm(page, 'Create secret');
    await page.getByRole('alert').getByText(/name/).waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('API_KEY');
    await confirm(page, 'Create secret');
    const row = page.getByRole('table', { name: 'Secrets' }).getByRole('row').filter({ hasText: 'API_KEY' });
    await row.getByText('https://api.example.com, resize').waitFor();
    await row.getByRole('button', { name: 'Replace API_KEY' }).click();
    assert.equal(await page.getByLabel('Value').inputValue(), '');
    await page.getByLabel('Value').fill('another-value');
    await confirm(page, 'Replace secret');
    await page.getByText('API_KEY is set').first().waitFor();
    await page.locator('.dialog').waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes('another-value'));
    await row.getByRole('button', { name: 'Delete' }).click();
    await confirm(page, 'Delete secret');
    await row.waitFor({ state: 'detached' });
  }));

test('a rule and an action are stored, edited and deleted', () =>
  bench.withPage(async (page, driver) => {
    await driver.goto('/settings');
    await driver.button('Create rule…');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('one-per-tenant');
    await write(page, 'Rule', { type: 'Concurrency', matcher: { kind: 'x', status: 'Running', fields: [] }, max: 1 });
    await faultsOf(page, 'Rule').getByText('max: is not a known member').waitFor();
    const rule = { type: 'Concurrency', matcher: { kind: 'x', status: 'Running', fields: [] }, max_concurrency: 1 };
    await write(page, 'Rule', rule);
    await confirm(page, 'Store rule');
    const row = page.getByRole('row').filter({ hasText: 'one-per-tenant' });
    await row.getByRole('button', { name: 'Edit one-per-tenant' }).click();
    await write(page, 'Rule', { ...rule, max_concurrency: 2 });
    await confirm(page, 'Store rule');
    await row.getByText('"max_concurrency":2').waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    await confirm(page, 'Delete rule');
    await row.waitFor({ state: 'detached' });
    await driver.button('Create action…');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('alarm');
    await confirm(page, 'Store action');
    await page
      .getByRole('row')
      .filter({ hasText: 'alarm' })
      .getByText(/example\.com/)
      .waitFor();
  }));

test('a user who may only read is offered none of it', async () => {
  const bare = await ConsoleBench.start({ flags: { HEDDLE_REQUIRE_TOKENS: 'true' }, scopes: ['read'] });
  try {
    await bare.withPage(async (page, driver) => {
      await driver.goto('/submit');
      await page.getByLabel('Token').fill(bare.heddle.token!);
      await driver.button('Log in');
      await page.getByText('You may not submit runs').waitFor();
      await driver.goto('/runs');
      await page.getByText('No runs yet').waitFor();
      assert.equal(await page.getByRole('link', { name: /^Submit/ }).count(), 0);
      await driver.goto('/settings');
      await page.getByRole('heading', { name: 'Stored rules' }).waitFor();
      assert.equal(await page.getByRole('button', { name: /^Create/ }).count(), 0);
      assert.equal(await page.getByRole('heading', { name: /Tokens|Secrets/ }).count(), 0);
    });
  } finally {
    await bare.stop();
  }
});
