/** What the task panel shows of commands: their attempts and their logs, of a real server. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { startHeddle } from '@heddle/test-support/cli/heddle';
import { launchBrowser } from '../support/web/browser.ts';
import { eventually } from '../support/web/page-driver.ts';

test('the attempts of a command, what the last one wrote, and its files', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-page-artifacts-'));
  const server = await startHeddle({ flags: { HEDDLE_COMMANDS: 'process', HEDDLE_ARTIFACTS_DIR: directory } });
  const browser = await launchBrowser();
  try {
    const client = new HeddleClient({ baseUrl: server.url });
    const run = 'echo looking; mkdir out; seq 1000 > out/hosts.txt; echo "slow host <b>x</b>" >&2; exit 3';
    const metadata = { run, artifacts: ['out'] };
    const { tasks, batchId } = await client.submit([{ name: 'survey', kind: 'Command', metadata }]);
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
    await page.goto(`${server.url}/runs/${batchId}`);
    await page
      .getByRole('button', { name: /survey/ })
      .first()
      .click();
    const log = page.getByTestId('log');
    await log.getByText('looking').waitFor();
    assert.doesNotMatch(await log.innerText(), /bashrc/);
    await log.getByText('slow host <b>x</b>').waitFor();

    await page.getByRole('tab', { name: 'Attempts' }).click();
    const attempts = page.getByRole('table', { name: 'Attempts' }).locator('tbody tr');
    await attempts.nth(1).waitFor();
    assert.deepEqual(
      (await attempts.allInnerTexts()).map((text) => /failed\s*exit 3[^]*it exited with 3: slow host/.test(text)),
      [true, true],
    );

    await page.getByRole('tab', { name: 'Artifacts' }).click();
    const artifacts = page.getByRole('table', { name: 'Artifacts' }).locator('tbody tr');
    await artifacts.nth(1).waitFor();
    const texts = await artifacts.allInnerTexts();
    assert.match(texts[0]!, /out\/hosts\.txt[^]*3\.8 KiB[^]*2/);
    assert.match(texts[1]!, /out\/hosts\.txt[^]*3\.8 KiB[^]*1/);
    const downloading = page.waitForEvent('download');
    await artifacts.first().getByRole('button', { name: 'hosts.txt' }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), 'hosts.txt');
    assert.equal((await readFile(await download.path(), 'utf8')).length, 3893);
  } finally {
    await browser.close();
    await server.stop();
    await rm(directory, { recursive: true });
  }
});
