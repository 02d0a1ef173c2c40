import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';

import { patience } from '@heddle/test-support/patience';

const DEADLINE_MS = 60_000;
const PAUSE_MS = { first: 5, max: 100 };
/** The window of a page, unless a test changes it. */
export const DESKTOP = { width: 1400, height: 850 };

/** Polls until `probe` returns something other than undefined; fails with what was awaited when the time is up. */
export async function eventually<Value>(what: string, probe: () => Promise<Value | undefined>): Promise<Value> {
  const startedAt = performance.now();
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > DEADLINE_MS * patience())
      throw new Error(`waited ${Math.round(waitedMs)} ms without effect: ${what}`);
    // A share of the wait so far: each look at the page costs the browser, the driver and this process some time.
    await sleep(Math.min(PAUSE_MS.max, PAUSE_MS.first + waitedMs / 10));
  }
}

/** One tab with the console, used like a person does: with mouse, keys and screen. */
export class PageDriver {
  readonly page: Page;
  /** Errors of scripts and messages of the console, including policy violations. */
  readonly complaints: string[] = [];
  private readonly context: BrowserContext;
  private readonly baseUrl: string;

  private constructor(context: BrowserContext, page: Page, baseUrl: string) {
    this.context = context;
    this.page = page;
    this.baseUrl = baseUrl;
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => {
      // Chromium itself reports every 4xx or 5xx response and every broken connection, which the page shows too.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
        this.complaints.push(message.text());
      }
    });
  }

  static async open(browser: Browser, baseUrl: string, colorScheme: 'light' | 'dark' = 'light'): Promise<PageDriver> {
    const context = await browser.newContext({
      viewport: DESKTOP,
      colorScheme,
      locale: 'en-US',
      timezoneId: 'UTC',
      // What moves all the time is drawn all the time.
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(DEADLINE_MS * patience());
    return new PageDriver(context, await context.newPage(), baseUrl);
  }

  async close(): Promise<void> {
    await this.context.close();
  }

  /** From the next page on, seconds can be advanced manually; otherwise they pass normally. */
  async ownClock(): Promise<void> {
    await this.page.clock.install();
  }

  async passSeconds(seconds: number): Promise<void> {
    await this.page.clock.fastForward(seconds * 1000);
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(this.baseUrl + path);
  }

  /** Opens a batch and waits until its graph is laid out and drawn; returns milliseconds from navigation to drawn. */
  async gotoGraph(batchId: string): Promise<number> {
    await this.goto(`/runs/${batchId}`);
    return this.drawn();
  }

  drawn(): Promise<number> {
    return eventually('the graph is drawn', () =>
      this.read<number | undefined>('window.__heddle?.ready ? window.__heddle.drawnAtMs : undefined'),
    );
  }

  /** The value of an expression on the page. */
  read<Value>(expression: string): Promise<Value> {
    return this.page.evaluate<Value>(expression);
  }

  text(testId: string): Promise<string> {
    return this.page.getByTestId(testId).innerText();
  }

  button(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click();
  }

  /** Asks for an operation and confirms it in the dialog. */
  async confirm(operation: string, subject: string): Promise<void> {
    // Until it is gone, the dialog of the operation before has buttons of the same names as the page.
    await this.#dialogIsGone();
    await this.button(operation);
    await this.button(`${operation} ${subject}`);
  }

  /** Clicks the middle of a node's card on the canvas. */
  async clickTask(nodeId: string): Promise<void> {
    // A card changes its color before the dialog that asked for the operation closes, and until then the click is the dialog's.
    await this.#dialogIsGone();
    const spot = await this.read<{ x: number; y: number }>(`(() => {
      const at = window.__heddle.nodes().find(({ id }) => id === '${nodeId}');
      const frame = window.__heddle.canvas().getBoundingClientRect();
      return { x: frame.x + at.x, y: frame.y + at.y };
    })()`);
    await this.page.mouse.click(spot.x, spot.y);
  }

  async #dialogIsGone(): Promise<void> {
    // By class, since messages in the corner have the role of a dialog too.
    await this.page.locator('.dialog').waitFor({ state: 'detached' });
  }

  /** Waits until the details are those of a task, and no longer of the one selected before. */
  async showsTask(name: string): Promise<void> {
    const shown = this.page.getByTestId('task-name');
    await eventually(`the details of ${name} are shown`, async () =>
      (await shown.innerText()) === name ? true : undefined,
    );
  }

  /** Opens a part of the selected task. */
  async tab(name: string): Promise<void> {
    await this.page.getByRole('tab', { name, exact: true }).click();
  }

  /** The color on the canvas at the left end of a task's card, where its stripe is: `r,g,b` as painted. */
  private paintedColour(taskId: string): Promise<string> {
    return this.read(`(() => {
      const node = window.__heddle.nodes().find(({ id }) => id === '${taskId}');
      const canvas = window.__heddle.canvas();
      const x = node.x - node.width / 2 + 4 * window.__heddle.view().zoom;
      const scale = canvas.width / canvas.clientWidth;
      return [...canvas.getContext('2d').getImageData(Math.round(x * scale), Math.round(node.y * scale), 1, 1).data]
        .slice(0, 3)
        .join(',');
    })()`);
  }

  /** The color of a state in the style sheet, as computed by the browser: `r,g,b`. */
  stateColour(status: string): Promise<string> {
    return this.read(`(() => {
      const probe = document.createElement('span');
      probe.style.color = 'var(--status-${status.toLowerCase()})';
      document.body.append(probe);
      const colour = getComputedStyle(probe).color.match(/\\d+/g).join(',');
      probe.remove();
      return colour;
    })()`);
  }

  async waitForColour(taskId: string, status: string): Promise<void> {
    const wanted = await this.stateColour(status);
    await eventually(`the card of ${taskId} is painted ${wanted} (${status})`, async () =>
      near(await this.paintedColour(taskId), wanted) ? true : undefined,
    );
  }

  view(): Promise<{ zoom: number; x: number; y: number }> {
    return this.read('window.__heddle.view()');
  }
}

/** Whether two colors are equal except for rounding. */
function near(a: string, b: string): boolean {
  const [left, right] = [a.split(',').map(Number), b.split(',').map(Number)];
  return left.length === 3 && left.every((value, i) => Math.abs(value - right[i]!) <= 3);
}
