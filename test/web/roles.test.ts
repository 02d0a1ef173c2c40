/** Every view of the console, by users who log in with a token of each role: what is offered, and what the server accepts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';

import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { ROLES, SCOPES_OF_ROLE, type Role } from '@heddle/core/domain/token';
import { TokenStore } from '@heddle/core/store/tokens';
import { eventually } from '@heddle/test-support/eventually';
import { findingsOf, reported, runOf } from '@heddle/test-support/engine/findings/reported';
import { ConsoleBench, type SubmittedTask } from '../support/web/console-bench.ts';
import { openView } from '../support/web/showcase/showcase-views.ts';

interface Made {
  failedRun: string;
  failedTask: string;
  openRun: string;
  openTask: string;
  webhookTask: string;
  fileTask: string;
  fingerprint: string;
  finding: string;
  runner: string;
}

interface View {
  path: (of: Made) => string;
  /** Controls that change something, offered to operators and administrators. */
  operator?: readonly string[];
  /** Offered to administrators only. */
  admin?: readonly string[];
  /** Offered to everyone: what they change is the user's own. */
  everyone?: readonly string[];
  /** What an operator presses, one after the other, and confirms; the server must accept it. */
  press?: readonly string[];
  confirm?: string;
}

const SELECT = ['Select all', 'Select'];
const RETRY_TASK = ['Retry', 'Retry with…'];

/** Every view, with what it offers. A control that is neither here nor in `READING` fails the test. */
const VIEWS: Readonly<Record<string, View>> = {
  home: { path: () => '/' },
  failure: { path: ({ fingerprint }) => `/failures/${fingerprint}`, operator: ['Retry selected', ...SELECT] },
  runs: { path: () => '/runs', operator: ['Submit', ...SELECT] },
  grid: { path: () => '/runs?view=grid&name=orders', operator: ['Submit', ...SELECT] },
  submit: { path: () => '/submit', operator: ['Submit task', 'Continue as JSON', 'One task', 'Batch', 'Workflow'] },
  'failed run': {
    path: ({ failedRun }) => `/runs/${failedRun}?view=tasks`,
    operator: ['Retry batch', 'Run again…', ...SELECT],
    press: ['Retry batch'],
    confirm: 'Retry batch',
  },
  timeline: {
    path: ({ openRun }) => `/runs/${openRun}?view=timeline`,
    operator: ['Pause batch', 'Cancel batch', 'Run again…'],
    press: ['Run again…'],
    confirm: 'Run again',
  },
  graph: {
    path: ({ openRun }) => `/runs/${openRun}?view=graph`,
    operator: ['Pause batch', 'Cancel batch', 'Run again…'],
    press: ['Pause batch'],
    confirm: 'Pause batch',
  },
  'open task': {
    path: ({ openTask }) => `/tasks/${openTask}`,
    operator: ['Pause', 'Cancel task'],
    press: ['Pause'],
  },
  'failed task': { path: ({ failedTask }) => `/tasks/${failedTask}`, operator: RETRY_TASK, press: ['Retry'] },
  'webhooks of a task': {
    path: ({ webhookTask }) => `/tasks/${webhookTask}?tab=webhooks`,
    operator: [...RETRY_TASK, 'Replay'],
  },
  'artifacts of a task': {
    path: ({ fileTask }) => `/tasks/${fileTask}?tab=artifacts`,
    operator: [...RETRY_TASK, 'Pin'],
    press: ['Pin'],
  },
  schedules: { path: () => '/schedules', operator: ['New job'] },
  calendar: { path: () => '/schedules?view=calendar', operator: ['New job'] },
  job: {
    path: () => '/schedules/nightly',
    operator: ['Run now', 'Backfill', 'Pause', 'Edit', 'Delete'],
    press: ['Run now'],
    confirm: 'Run',
  },
  workers: { path: () => '/workers' },
  queues: { path: () => '/queues', operator: ['Redrive manager'], press: ['Redrive manager'], confirm: 'Redrive' },
  webhooks: { path: () => '/webhooks', operator: ['Replay'], press: ['Replay'] },
  rules: { path: () => '/rules' },
  runners: { path: () => '/pool' },
  'waiting requests': { path: () => '/pool?view=waiting' },
  'granted requests': { path: () => '/pool?view=granted', operator: ['Release'] },
  runner: {
    path: ({ runner }) => `/pool/${runner}`,
    operator: ['Release', 'Drain', 'Terminate'],
    press: ['Terminate'],
    confirm: 'Terminate',
  },
  executors: { path: () => '/executors' },
  findings: { path: () => '/findings', operator: SELECT, press: ['Select all', 'Ignore'], confirm: 'Ignore' },
  finding: {
    path: ({ finding }) => `/findings/${finding}`,
    operator: ['Verify', 'Ignore', 'False positive'],
    press: ['False positive'],
    confirm: 'False positive',
  },
  surface: { path: () => '/surface' },
  audit: { path: () => '/audit' },
  settings: {
    path: () => '/settings',
    everyone: ['End'],
    operator: ['Create rule…', 'Create action…'],
    admin: ['Create token…', 'Revoke', 'Create secret…'],
  },
};

/** Controls that only choose what is shown, in any view. */
const READING = [
  ...['Runs', 'All', 'By name', 'Definition', 'Graph', 'Timeline', 'Tasks', 'Zoom in', 'Zoom out', 'Fit', ''],
  ...['Summary', 'Attempts', 'Logs', 'Input', 'Result', 'Artifacts', 'Webhooks', 'List', 'Calendar', 'Week', 'Day'],
  ...['Previous week', 'Today', 'Next week', 'Runners', 'Waiting requests', 'Granted requests', 'large', 'a.txt'],
  ...['Hosts', 'Services', 'Names', 'TLS', 'Certificates'],
];
/** Copying, days of a calendar, nodes and states of a graph. */
const READING_PATTERN = /^Copy: |^\w{3}, \w{3} \d+$|^wait\n|^(?:Pending|Paused)\n\d+$/;

let bench: ConsoleBench;
let made: Made;

before(async () => {
  bench = await ConsoleBench.start({
    flags: { HEDDLE_REQUIRE_TOKENS: '1' },
    scopes: ['admin'],
  });
  made = await fill();
});

after(() => bench.stop());

async function fill(): Promise<Made> {
  const failed = await failedTask('load', 'role-fails', 'orders');
  const retried = await failedTask('extract', 'role-fails', 'reports');
  const [open] = await bench.submit([{ name: 'wait', kind: 'role-waits' }], 'invoices');
  const [other] = await bench.submit([{ name: 'wait', kind: 'role-waits' }], 'more invoices');
  const on_failure = [{ kind: 'Webhook', params: { url: 'http://127.0.0.1:9/', verb: 'Post' }, max_tries: 1 }];
  const webhook = await failedTask('bill', 'role-bills', 'billing', { on_failure });
  const file = await failedTask('draw', 'role-draws', 'pictures', {}, storeArtifact);
  const root = { mode: 'sequential', children: [{ kind: 'role-waits' }] };
  await bench.send('POST', '/v1/jobs', { name: 'nightly', cron: '0 3 * * *', workflow: { root } });
  const hold = { requirements: { resource_class: 'large' }, holder: 'a build', wait_secs: 60 };
  const { runners } = await bench.send<{ runners: { id: string }[] }>('POST', '/v1/pool/requests', hold);
  const findings = findingsOf(bench.heddle.database);
  await runOf(findings, 'shop', [reported(1), reported(2)]);
  const [finding] = await findings.list({}, { after: null, limit: 1 });
  await bench.heddle.database.query({
    name: 'test.dead_letter',
    text: `insert into queue_dead (id, queue, body, sent_at, receive_count, reason, dead_lettered_at)
      values (gen_random_uuid(), 'manager', '{}', now(), 5, 'the manager broke over it', now())`,
  });
  return {
    failedRun: failed.batch_id,
    failedTask: retried.id,
    openRun: open!.batch_id,
    openTask: other!.id,
    webhookTask: webhook.id,
    fileTask: file.id,
    fingerprint: await knownFailure(),
    finding: finding!.id,
    runner: runners[0]!.id,
  };
}

/** Submits a task, runs it as a worker does, and fails it. */
async function failedTask(
  name: string,
  kind: string,
  batch: string,
  settings: object = {},
  meanwhile: (id: string, attempt: number) => Promise<void> = () => Promise.resolve(),
): Promise<SubmittedTask> {
  const [task] = await bench.submit([{ name, kind, ...settings }], batch);
  const claim = { kinds: [kind], max: 1, lease_secs: 60 };
  const { tasks } = await bench.send<{ tasks: { id: string; attempt: number }[] }>('POST', '/v1/work/claim', claim);
  const { id, attempt } = tasks[0]!;
  await meanwhile(id, attempt);
  await bench.send('POST', `/v1/work/${id}/fail`, { attempt, reason: 'out of paper' });
  return task!;
}

async function storeArtifact(id: string, attempt: number): Promise<void> {
  const response = await fetch(`${bench.heddle.url}/v1/work/${id}/artifacts?name=a.txt&attempt=${attempt}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${bench.heddle.token}`, 'content-type': 'application/octet-stream' },
    body: 'a',
  });
  assert.equal(response.status, 200, await response.text());
}

async function knownFailure(): Promise<string> {
  const { failing } = await eventually(
    async () => {
      const home = await bench.send<{ failing: { fingerprint: string }[] }>('GET', '/v1/home');
      return home.failing.length > 0 ? home : undefined;
    },
    'a group of failures is known',
    60_000,
  );
  return failing[0]!.fingerprint;
}

/** Logs in as people do, with a token of the role. */
async function loggedIn(role: Role): Promise<Page> {
  const { database, url } = bench.heddle;
  const tokens = new TokenStore({ database, clock: systemClock, random: systemRandom });
  const { text } = await tokens.create(`${role} of a test`, [...SCOPES_OF_ROLE[role]], null);
  const context = await bench.browser.newContext({ viewport: { width: 1400, height: 900 }, locale: 'en-US' });
  const page = await context.newPage();
  await page.goto(url);
  await page.getByLabel('Token').fill(text);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('button', { name: /^User / }).waitFor();
  return page;
}

/** Names of the controls of a view that may change something: buttons, links that look like buttons, boxes. */
async function changingControls(page: Page): Promise<string[]> {
  const names = await page.evaluate<string[]>(`
    [...document.querySelectorAll('main button, main a.button, main input[type=checkbox]')]
      .filter((control) => control.checkVisibility())
      .map((control) => (control.getAttribute('aria-label') ?? control.innerText).trim())`);
  return [...new Set(names)].filter((name) => !READING.includes(name) && !READING_PATTERN.test(name)).sort();
}

function offeredTo(role: Role, { everyone = [], operator = [], admin = [] }: View): string[] {
  const offered = [...everyone, ...(role === 'viewer' ? [] : operator), ...(role === 'admin' ? admin : [])];
  return offered.sort();
}

for (const role of ROLES) {
  test(`every view offers the role ${role} what it may do, and nothing else`, async () => {
    const page = await loggedIn(role);
    const offered: Record<string, string[]> = {};
    for (const [name, view] of Object.entries(VIEWS)) {
      await openView(page, bench.heddle.url, { name, path: view.path(made) });
      offered[name] = await changingControls(page);
    }
    const expected = Object.entries(VIEWS).map(([name, view]) => [name, offeredTo(role, view)] as const);
    assert.deepEqual(offered, Object.fromEntries(expected));
    await page.context().close();
  });
}

test('the server accepts from an operator what a view offers', async () => {
  const page = await loggedIn('operator');
  for (const [name, view] of Object.entries(VIEWS)) {
    const { press = [], confirm } = view;
    if (press.length === 0) continue;
    await openView(page, bench.heddle.url, { name, path: view.path(made) });
    const sent = page
      .waitForResponse((response) => response.request().method() !== 'GET')
      .catch((error: unknown) => assert.fail(`${name}: nothing was sent: ${String(error)}`));
    const [response] = await Promise.all([sent, pressAll(page, press, confirm)]);
    assert.ok(response.ok(), `${name}: ${response.url()}: ${response.status()} ${await response.text()}`);
  }
  await page.context().close();
});

async function pressAll(page: Page, names: readonly string[], confirm: string | undefined): Promise<void> {
  const main = page.locator('main');
  for (const name of names) {
    const options = { name, exact: true };
    await main.getByRole('button', options).or(main.getByRole('checkbox', options)).first().click();
  }
  if (confirm !== undefined) await page.getByRole('dialog').getByRole('button', { name: confirm, exact: true }).click();
}
