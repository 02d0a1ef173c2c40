/**
 * `npm run screenshots [-- NAME...]`: pictures of every view of the console, light, dark and as on a phone, in
 * `build/screenshots/`; the ones that the documentation shows go to `docs/images/` too. The views are those of a server
 * that it starts and fills.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { launchBrowser } from '../test/support/web/browser.ts';
import { Showcase } from '../test/support/web/showcase/showcase.ts';
import { openView, viewsOf, type View } from '../test/support/web/showcase/showcase-views.ts';

const ROOT = join(import.meta.dirname, '..');
const DIRECTORY = join(ROOT, 'build/screenshots');
const IMAGES = join(ROOT, 'docs/images');

/** In the documentation, by view. */
const SHOWN = new Set(['home', 'runs', 'grid', 'graph', 'timeline', 'tree', 'task-summary', 'surface']);

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light', viewport: { width: 1400, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1400, height: 900 } },
  phone: {
    colorScheme: 'light',
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 2,
    isMobile: true,
    hasTouch: true,
  },
};

async function photograph(browser: Browser, url: string, look: string, views: readonly View[]): Promise<void> {
  const directory = join(DIRECTORY, look);
  mkdirSync(directory, { recursive: true });
  const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', ...LOOKS[look] });
  const page = await context.newPage();
  for (const view of views) {
    await openView(page, url, view);
    await page.evaluate('document.fonts.ready');
    await page.screenshot({ path: join(directory, `${view.name}.png`), animations: 'disabled' });
    console.log(`${look}/${view.name}.png`);
  }
  await context.close();
}

execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
console.log('Starting a server and filling it ...');
const showcase = await Showcase.start();
const browser = await launchBrowser();
try {
  const wanted = process.argv.slice(2);
  const views = viewsOf(showcase.ids).filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  for (const look of Object.keys(LOOKS)) await photograph(browser, showcase.url, look, views);
  for (const { name } of views) {
    if (SHOWN.has(name)) copyFileSync(join(DIRECTORY, 'light', `${name}.png`), join(IMAGES, `console-${name}.png`));
  }
} finally {
  await browser.close();
  await showcase.stop();
}
