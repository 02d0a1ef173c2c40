/** Every view with a day's work in it: readable for assistive technology, in both themes, and on a phone. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/web/browser.ts';
import { PageDriver } from '../support/web/page-driver.ts';
import { Showcase } from '../support/web/showcase/showcase.ts';
import { openView, viewsOf } from '../support/web/showcase/showcase-views.ts';

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

/** What breaks a rule, with the first element. */
async function violations(page: Page, rules: string): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate<axe.AxeResults>(`axe.run(${rules})`);
  return found.violations.map(
    ({ id, help, nodes }) => `${id} (${help}), ${nodes.length} times: ${nodes[0]?.html ?? ''}`,
  );
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

/** The dark theme differs in its colours alone. */
for (const [scheme, rules] of [
  ['light', ''],
  ['dark', '{ runOnly: ["color-contrast"] }'],
] as const) {
  test(`no view breaks a rule of accessibility (${scheme})`, async () => {
    const driver = await PageDriver.open(browser, showcase.url, scheme);
    const found: Record<string, string[]> = {};
    for (const view of viewsOf(showcase.ids)) {
      await openView(driver.page, showcase.url, view);
      const broken = await violations(driver.page, rules);
      if (broken.length > 0) found[view.name] = broken;
    }
    assert.deepEqual(found, {});
    assert.deepEqual(driver.complaints, []);
    await driver.close();
  });
}

describe('a window of 390 pixels', () => {
  test('shows every view without scrolling sideways', async () => {
    const driver = await PageDriver.open(browser, showcase.url);
    await driver.page.setViewportSize({ width: 390, height: 844 });
    const found: Record<string, string> = {};
    for (const view of viewsOf(showcase.ids)) {
      await openView(driver.page, showcase.url, view);
      const wide = await overflow(driver.page);
      if (wide !== null) found[view.name] = wide;
    }
    assert.deepEqual(found, {});
    await driver.close();
  });
});
