/** A real server with its console in a real browser, for tests of what the console changes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { createKindDirectory } from '@heddle/core/engine/kinds/directory';
import { startHeddle } from '@heddle/test-support/cli/heddle';
import type { Heddle, HeddleOptions } from '@heddle/test-support/cli/heddle';
import { launchBrowser } from './browser.ts';
import { eventually, PageDriver } from './page-driver.ts';

const ROOT = join(import.meta.dirname, '../../..');

export interface SubmittedTask {
  id: string;
  name: string;
  batch_id: string;
}

export interface ReadTask {
  status: string;
  attempt: number;
  priority: number;
  kind: string;
  name: string;
  metadata: unknown;
}

export class ConsoleBench {
  readonly heddle: Heddle;
  readonly browser: Browser;

  private constructor(heddle: Heddle, browser: Browser) {
    this.heddle = heddle;
    this.browser = browser;
  }

  /** With a kind `resize` whose input has a schema; no worker runs it. */
  static async start(options: HeddleOptions = {}): Promise<ConsoleBench> {
    execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
    const heddle = await startHeddle(options);
    await createKindDirectory({ database: heddle.database }).describe([
      {
        name: 'resize',
        description: 'Resizes an image.',
        input_schema: {
          type: 'object',
          properties: { width: { type: 'integer', minimum: 1 }, mode: { enum: ['fit', 'fill'] } },
          required: ['width'],
          additionalProperties: false,
        },
      },
    ]);
    return new ConsoleBench(heddle, await launchBrowser());
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.heddle.stop();
  }

  async send<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const { url, token } = this.heddle;
    const headers = {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as Answer;
  }

  submit(tasks: object[], name = ''): Promise<SubmittedTask[]> {
    return this.send('POST', `/task${name === '' ? '' : `?batch_name=${encodeURIComponent(name)}`}`, tasks);
  }

  /** Runs the pending tasks of a kind as a worker does; each fails for the reason given. */
  async failAll(kind: string, reason: string): Promise<void> {
    const claim = { kinds: [kind], max: 50, lease_secs: 60 };
    const { tasks } = await this.send<{ tasks: { id: string; attempt: number }[] }>('POST', '/v1/work/claim', claim);
    for (const { id, attempt } of tasks) await this.send('POST', `/v1/work/${id}/fail`, { attempt, reason });
  }

  task(id: string): Promise<ReadTask> {
    return this.send('GET', `/task/${id}`);
  }

  tasksOf(run: string): Promise<ReadTask[]> {
    return this.send('GET', `/task?batch_id=${run}`);
  }

  async withPage(run: (page: Page, driver: PageDriver) => Promise<void>, width = 1400): Promise<void> {
    const driver = await PageDriver.open(this.browser, this.heddle.url);
    try {
      await driver.page.setViewportSize({ width, height: 850 });
      await run(driver.page, driver);
      assert.deepEqual(driver.complaints, []);
    } finally {
      await driver.close();
    }
  }
}

export function until(what: string, holds: () => Promise<boolean>): Promise<true> {
  return eventually(what, async () => ((await holds()) ? (true as const) : undefined));
}

/** The text of a JSON editor, once it is loaded. */
export function editor(page: Page, label: string): Locator {
  return page.locator('.cm-content').and(page.getByLabel(label, { exact: true }));
}

/** Replaces the text of a JSON editor. */
export function write(page: Page, label: string, value: unknown): Promise<void> {
  return editor(page, label).fill(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}

/** Asks for completions until one is chosen, since the schema may still be on its way, and takes it. */
export async function complete(page: Page, name: string | RegExp): Promise<void> {
  // While a list is being made again, the old one is shown, and keys move the cursor instead.
  const list = page.locator('.cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)');
  const option = list.getByRole('option', { name });
  const chosen = list.getByRole('option', { name, selected: true });
  await until(`${String(name)} is chosen`, async () => {
    if (await chosen.isVisible()) return true;
    await page.keyboard.press((await option.isVisible()) ? 'ArrowDown' : 'Control+Space');
    return chosen.waitFor({ timeout: 2000 }).then(
      () => true,
      () => false,
    );
  });
  await page.keyboard.press('Enter');
  await page.getByRole('option', { name }).waitFor({ state: 'detached' });
}

export function faultsOf(page: Page, label: string): Locator {
  return page.getByRole('status', { name: `Faults of ${label}` });
}

/** Records the changes that a page sends. */
export function changesOf(page: Page): string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  return sent;
}

/** Clicks a button of the open dialog. */
export function confirm(page: Page, button: string): Promise<void> {
  return page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click();
}

/** The id of the run that a page shows, once it is another one than before. */
export async function nextRun(page: Page, before: string | null = null): Promise<string> {
  const isNext = ({ pathname }: URL): boolean =>
    /^\/runs\/[0-9a-f-]{36}$/.test(pathname) && !pathname.endsWith(before ?? '/');
  await page.waitForURL(isNext).catch(async (cause: unknown) => {
    throw new Error(`no other run is shown; the page says: ${await page.locator('main').innerText()}`, { cause });
  });
  return new URL(page.url()).pathname.split('/').at(-1)!;
}
