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
    { name: 'task-summary', path: `/tasks/${failedTask}` },
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
    { name: 'finding', path: '/findings', arrange: openFirstRow },
    { name: 'surface', path: '/surface' },
    { name: 'certificates', path: '/surface?model=certificate' },
    { name: 'host', path: '/surface/hosts/192.0.2.10' },
    { name: 'audit', path: '/audit' },
    { name: 'settings', path: '/settings' },
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

async function openFirstRow(page: Page): Promise<void> {
  await page.locator('main tbody a').first().click();
  await page.locator('main .crumbs').waitFor();
}

/** Opens a view and waits until it shows what it is about. */
export async function openView(page: Page, url: string, { path, arrange }: View): Promise<void> {
  await page.goto(`${url}${path}`);
  await page.locator('main h1, main .run-head, main h2').first().waitFor();
  const loading = page.locator('.loading');
  await eventually(async () => (await loading.count()) === 0, `${path} has loaded`, 60_000);
  await arrange?.(page);
}
