/** Every view with a day's work in it: readable for assistive technology, in both themes, and on a phone. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/web/browser.ts';
import { DESKTOP, PageDriver } from '../support/web/page-driver.ts';
import { Showcase } from '../support/web/showcase/showcase.ts';
import { openView, viewsOf } from '../support/web/showcase/showcase-views.ts';

const PHONE = { width: 390, height: 844 };

let showcase: Showcase;
let browser: Browser;

before(async () => {
  browser = await launchBrowser();
  showcase = await Showcase.start();
});

after(async () => {
  await browser.close();
  await showcase.stop();
});

/** What breaks a rule, with the first element; axe is on the page already. */
async function violations(page: Page, options: object): Promise<string[]> {
  // Only violations leave the page: what passes is most of the result.
  const run = `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...options })})`;
  const found = await page.evaluate<axe.Result[]>(`${run}.then(({ violations }) => violations)`);
  return found.map(({ id, help, nodes }) => `${id} (${help}), ${nodes.length} times: ${nodes[0]?.html ?? ''}`);
}

function backgroundOf(page: Page): Promise<string> {
  return page.evaluate(`getComputedStyle(document.body).backgroundColor`);
}

/** The first element that is wider than the window and does not scroll by itself. */
function overflow(page: Page): Promise<string | null> {
  return page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width && document.getElementById('scroller').scrollWidth <= width) return null;
    const wide = [...document.querySelectorAll('main *')].find((each) => each.getBoundingClientRect().right > width + 1);
    return wide === undefined ? 'the page' : wide.outerHTML.slice(0, 200);
  })()`);
}

test('every view, in the light and in the dark theme and on a phone', async (t) => {
  const driver = await PageDriver.open(browser, showcase.url, 'light');
  const { page } = driver;
  const found: Record<string, string[]> = {};
  const wider: Record<string, string> = {};
  for (const view of viewsOf(showcase.ids)) {
    await page.setViewportSize(PHONE);
    await openView(page, showcase.url, view);
    const wide = await overflow(page);
    if (wide !== null) wider[view.name] = wide;
    await page.setViewportSize(DESKTOP);
    await page.evaluate(axe.source);
    const light = await violations(page, {});
    const background = await backgroundOf(page);
    // The dark theme differs in its colours alone.
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.notEqual(await backgroundOf(page), background, `${view.name} is dark`);
    const dark = await violations(page, { runOnly: ['color-contrast'] });
    await page.emulateMedia({ colorScheme: 'light' });
    if (light.length > 0) found[`${view.name}, light`] = light;
    if (dark.length > 0) found[`${view.name}, dark`] = dark;
  }
  await t.test('breaks no rule of accessibility', () => assert.deepEqual(found, {}));
  await t.test(`does not scroll sideways at ${PHONE.width} pixels`, () => assert.deepEqual(wider, {}));
  await t.test('complains about nothing', () => assert.deepEqual(driver.complaints, []));
  await driver.close();
});
