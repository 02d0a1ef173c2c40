/** The HTML report of a scan in a real browser. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { withChecksum } from '@heddle/test-support/scan/with-checksum';
import { launchBrowser } from '../support/web/browser.ts';

const HEDDLE = join(import.meta.dirname, '../../packages/heddle/src/cli/main.ts');
const directory = mkdtempSync(join(tmpdir(), 'heddle-scan-report-'));
const browser = await launchBrowser();

after(async () => {
  await browser.close();
  rmSync(directory, { recursive: true });
});

test('it shows the surest findings first, secrets masked, and runs nothing that a name or a file says', async () => {
  const tree = join(directory, 'tree');
  mkdirSync(tree);
  const token = withChecksum('crc32-base62', `ghp_Zq3v9LmT7xK2wB8nR4cY6dF1sJ5hG0AbCdEf`);
  const hostile = '<img src=x onerror=alert(1)>.ts';
  writeFileSync(join(tree, hostile), `// <script>alert(2)</script>\nconst token = '${token}';\n`);
  writeFileSync(join(tree, 'a.env'), 'DB_PASSWORD=hunter2-Wq9!\n');
  writeFileSync(join(tree, 'broken.zip'), Buffer.from('PK\x03\x04 broken'));
  const report = join(directory, 'report.html');
  const { status, stderr } = spawnSync(
    process.execPath,
    [HEDDLE, 'scan', tree, '--format', 'html', '--output', report],
    {
      encoding: 'utf8',
    },
  );
  assert.equal(status, 1, stderr);

  const page = await browser.newPage();
  const dialogs: string[] = [];
  const requests: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(pathToFileURL(report).href);
  assert.match(await page.getByRole('heading', { level: 1 }).innerText(), /^\d secrets found$/);
  const first = page.getByRole('article').first();
  assert.match(await first.getByRole('heading').innerText(), /<img src=x onerror=alert\(1\)>\.ts:2:/);
  assert.match(await first.innerText(), /<script>alert\(2\)<\/script>/);
  assert.equal(await first.locator('mark').count(), 1);
  const text = await page.content();
  assert.ok(!text.includes(token) && !text.includes('hunter2-Wq9!'));
  await page.getByRole('heading', { name: 'Not scanned completely' }).waitFor();
  await page.getByRole('listitem').filter({ hasText: 'broken.zip' }).first().waitFor();
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok(await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'));
  assert.deepEqual(dialogs, []);
  assert.deepEqual(requests, [pathToFileURL(report).href]);
});
