/** Every view of the console, as the showcase fills it. */
import type { Page } from 'playwright-core';
import { eventually } from '@heddle/test-support/eventually';
import type { ShownIds } from './showcase.ts';

export interface View {
  /** Of the picture. */
  name: string;
  path: string;
  /** Brings it into the state to show. */
  arrange?: (page: Page) => Promise<void>;
}

export function viewsOf({ failedBatch, failedTask, workflow, wideBatch }: ShownIds): View[] {
  const task = (tab: string): View => ({ name: `task-${tab}`, path: `/tasks/${failedTask}?tab=${tab}` });
  return [
    { name: 'home', path: '/' },
    { name: 'runs', path: '/runs' },
    { name: 'runs-by-name', path: '/runs?by=name' },
    { name: 'grid', path: '/runs/grid?name=nightly%20orders%20ETL' },
    { name: 'graph', path: `/runs/${failedBatch}` },
    { name: 'graph-folded', path: `/runs/${wideBatch}` },
    { name: 'tree', path: `/runs/${workflow}` },
    { name: 'timeline', path: `/runs/${failedBatch}?view=timeline` },
    { name: 'run-tasks', path: `/runs/${failedBatch}?view=tasks` },
    {
      name: 'task-summary',
      path: `/tasks/${failedTask}`,
      arrange: (page) => page.getByTestId('log').waitFor(),
    },
    ...['attempts', 'logs', 'input', 'result', 'artifacts', 'webhooks'].map(task),
    { name: 'workers', path: '/workers' },
    { name: 'queues', path: '/queues' },
    { name: 'rules', path: '/rules' },
    { name: 'webhooks', path: '/webhooks' },
    { name: 'schedules', path: '/schedules' },
    { name: 'calendar', path: '/schedules?view=calendar' },
    { name: 'calendar-day', path: '/schedules?view=calendar&span=day' },
    { name: 'job', path: '/schedules/nightly-import' },
    { name: 'job-form', path: '/schedules/nightly-import?form=edit' },
    { name: 'runners', path: '/pool' },
    { name: 'executors', path: '/executors' },
    { name: 'findings', path: '/findings' },
    { name: 'finding', path: '/findings', arrange: openCommittedSecret },
    { name: 'surface', path: '/surface' },
    { name: 'certificates', path: '/surface?model=certificate' },
    { name: 'host', path: '/surface/hosts/192.0.2.10' },
    { name: 'audit', path: '/audit' },
    { name: 'settings', path: '/settings' },
    ...changesOf(failedBatch, failedTask),
    { name: 'design', path: '/design' },
    { name: 'unknown-address', path: '/nothing/here' },
    {
      name: 'search',
      path: '/',
      arrange: async (page) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('dialog').getByRole('combobox').fill('load');
        await page.getByRole('option').first().waitFor();
      },
    },
  ];
}

/** What changes something: forms, dialogs, and the editor in its states. */
function changesOf(failedBatch: string, failedTask: string): View[] {
  const opened = (page: Page, button: string): Promise<void> =>
    page.getByRole('button', { name: button, exact: true }).first().click();
  const editor = (page: Page): Promise<void> => page.locator('.cm-content').waitFor();
  return [
    { name: 'submit', path: '/submit', arrange: editor },
    {
      name: 'submit-workflow',
      path: '/submit?as=workflow',
      arrange: async (page) => {
        await editor(page);
        const root = {
          mode: 'sequential',
          children: [{ id: 'fetch', kind: 'Command', input: { run: 3, shel: 'sh' } }],
        };
        await page.locator('.cm-content').fill(JSON.stringify({ name: 'nightly', root }, null, 2));
        await page
          .getByText(/shel: is not a known member/)
          .first()
          .waitFor();
        await page.getByRole('button', { name: /^Line/ }).first().click();
        await page.keyboard.press('Control+Space');
      },
    },
    {
      name: 'retry-with-input',
      path: `/tasks/${failedTask}`,
      arrange: async (page) => {
        await opened(page, 'Retry with…');
        await page.getByRole('menuitem', { name: 'Changed input…' }).click();
        await editor(page);
      },
    },
    {
      name: 'retry-from-here',
      path: `/tasks/${failedTask}`,
      arrange: async (page) => {
        await opened(page, 'Retry with…');
        await page.getByRole('menuitem', { name: 'Everything after it…' }).click();
        await page
          .getByText(/after it/)
          .last()
          .waitFor();
      },
    },
    {
      name: 'run-again',
      path: `/runs/${failedBatch}?view=tasks`,
      arrange: async (page) => {
        await opened(page, 'Run again…');
        await opened(page, 'With changed input');
        await editor(page);
      },
    },
    {
      name: 'definition',
      path: `/runs/${failedBatch}?view=tasks`,
      arrange: async (page) => {
        await opened(page, 'Definition');
        await page.getByTestId('definition').waitFor();
      },
    },
    { name: 'new-token', path: '/settings', arrange: (page) => opened(page, 'Create token…') },
    { name: 'new-secret', path: '/settings', arrange: (page) => opened(page, 'Create secret…') },
  ];
}

async function openCommittedSecret(page: Page): Promise<void> {
  await page.locator('main tbody tr', { hasText: 'release.ts' }).locator('a').first().click();
  await page.locator('main .crumbs').waitFor();
}

/** Opens a view and waits until it shows what it is about. */
export async function openView(page: Page, url: string, { path, arrange }: View): Promise<void> {
  await page.goto(`${url}${path}`);
  await page.locator('main h1, main .run-head, main h2').first().waitFor();
  const loading = page.locator('.loading');
  const loaded = () => eventually(async () => (await loading.count()) === 0, `${path} has loaded`, 60_000);
  await loaded();
  if ((await page.locator('canvas').count()) > 0)
    await eventually(
      () => page.evaluate<boolean>('window.__heddle === undefined || window.__heddle.ready'),
      `${path} is drawn`,
      60_000,
    );
  await arrange?.(page);
  await loaded();
}
