/** What the kernel makes up as it is read: `/proc/self` has files without an end, and links to all of the disk. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { KERNEL_FILE_BYTES_MAX } from '../../../src/scan/source/kernel-files.ts';
import { openOpener } from '../../../src/scan/source/open-opener.ts';
import { openSource } from '../../../src/scan/source/open-source.ts';
import { ObjectFault } from '../../../src/scan/source/port.ts';
import { optionsFor, scan, temporaryFolder } from '../scan-fixture.ts';
import { listAll } from './conformance.ts';

const PAGEMAP = '/proc/self/pagemap';
const skip = existsSync(PAGEMAP) ? false : 'there is no /proc here';

describe('files of the kernel', { skip }, () => {
  it('are read to a bound where they have no end', async () => {
    const opener = await openOpener({ type: 'path', path: '/proc/self' });
    const reader = await opener.open({ path: PAGEMAP, locator: PAGEMAP });
    const target = Buffer.alloc(1024 * 1024);
    let bytes = 0;
    const readOn = async (): Promise<never> => {
      for (;;) bytes += await reader.read(target, 0, target.length, bytes);
    };
    await assert.rejects(readOn(), (error: unknown) => {
      assert.ok(error instanceof ObjectFault);
      const { code, extent, message } = error.problem;
      assert.deepEqual([code, extent], ['too_large', 'partial']);
      assert.match(message, /continues after 8 MiB$/);
      return true;
    });
    assert.equal(bytes, KERNEL_FILE_BYTES_MAX);
    await reader.close();
  });

  it('are read whole where they end, and files that state a size whatever it is', async () => {
    const opener = await openOpener({ type: 'path', path: '/proc/self' });
    const reader = await opener.open({ path: '/proc/self/environ', locator: '/proc/self/environ' });
    const target = Buffer.alloc(1024 * 1024);
    const bytes = await reader.read(target, 0, target.length, 0);
    assert.deepEqual(target.subarray(0, bytes), readFileSync('/proc/self/environ'));
    assert.equal(await reader.read(target, 0, target.length, bytes), 0);
    await reader.close();
  });

  it('are left out, and named, where their file system is mounted below what is scanned, or a link leads to it', async (t) => {
    const prune = (path: string): boolean => path !== '/proc' && path !== '/sys';
    const { problems } = await listAll(await openSource({ type: 'path', path: '/' }, { prune }));
    const proc = problems.find(({ path }) => path === '/proc')!;
    assert.deepEqual([proc.code, proc.extent], ['special_file', 'notice']);
    assert.match(proc.message, /^a mounted proc file system, .*; it is scanned only as a named source$/);
    const folder = temporaryFolder(t);
    symlinkSync('/proc/self', join(folder, 'link'));
    const linked = await listAll(await openSource({ type: 'path', path: folder, follow_links: true }));
    assert.deepEqual(linked.objects, []);
    assert.deepEqual(
      linked.problems.map(({ code, path }) => `${code} ${path}`),
      [`special_file ${folder}/link`],
    );
  });

  it('have links to what a process uses, which are not followed', async () => {
    const { objects, problems } = await listAll(
      await openSource({ type: 'path', path: '/proc/self', follow_links: true }),
    );
    const links = ['root', 'cwd', 'exe'].map((name) => problems.find(({ path }) => path === `/proc/self/${name}`));
    for (const link of links) assert.equal(link?.code, 'link_not_followed');
    assert.ok(objects.every(({ path }) => !path.startsWith('/proc/self/root/')));
    assert.ok(objects.some(({ path }) => path === '/proc/self/environ'));
  });

  it('do not keep a scan of /proc/self from its end', async () => {
    const { summary, problems } = await scan(optionsFor('/proc/self'));
    assert.equal(summary.outcome, 'incomplete');
    const endless = problems.find(({ path }) => path === PAGEMAP);
    assert.deepEqual([endless?.code, endless?.extent], ['too_large', 'partial']);
    assert.ok(summary.metrics.objects_completed > 20, `${summary.metrics.objects_completed} objects`);
  });
});
