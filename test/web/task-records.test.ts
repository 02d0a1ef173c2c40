/** What the task panel shows of commands: their attempts and their logs, of a real server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { startHeddle } from '@heddle/test-support/cli/heddle';
import { launchBrowser } from '../support/web/browser.ts';
import { eventually } from '../support/web/page-driver.ts';

test('the attempts of a command, and what the last one wrote', async () => {
  const server = await startHeddle({ flags: { HEDDLE_COMMANDS: 'process' } });
  const browser = await launchBrowser();
  try {
    const client = new HeddleClient({ baseUrl: server.url });
    const run = 'echo looking; echo "slow host <b>x</b>" >&2; exit 3';
    const { tasks, batchId } = await client.submit([{ name: 'survey', kind: 'Command', metadata: { run } }]);
    const { id } = tasks[0]!;
    const untilAttempt = (number: number): Promise<true> =>
      eventually(`attempt ${number} has ended`, async () => {
        const [last] = await client.taskAttempts(id);
        return last?.attempt === number && last.outcome !== null ? true : undefined;
      });
    await untilAttempt(1);
    await client.retryTask(id);
    await untilAttempt(2);

    const page = await browser.newPage();
    await page.goto(`${server.url}/view?batch=${batchId}`);
    await page
      .getByRole('button', { name: /survey/ })
      .first()
      .click();
    const attempts = page.getByTestId('attempts').getByRole('listitem');
    await attempts.nth(1).waitFor();
    assert.deepEqual(
      (await attempts.allInnerTexts()).map((text) => /failed \(exit 3\)[^]*it exited with 3: slow host/.test(text)),
      [true, true],
    );
    const log = page.getByTestId('log').locator('pre');
    await log.getByText('looking').waitFor();
    await log.getByText('slow host <b>x</b>').waitFor();
  } finally {
    await browser.close();
    await server.stop();
  }
});
