import assert from 'node:assert/strict';
import { test } from 'node:test';

import { RATIO_FLOOR_BYTES } from '../../src/archive/context.ts';
import { detectArchive } from '../../src/archive/detect.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import { readPage, tableRows } from '@heddle/test-support/docs/pages';

const MIB = 1024 * 1024;
const page = readPage('docs/scanning/archives.md');

test('the page states the default budgets', () => {
  const budgets = SCAN_DEFAULTS.archives;
  const stated = tableRows(page).filter(([name]) => name!.endsWith('_budget`'));
  assert.deepEqual(Object.fromEntries(stated.map(([name, , value]) => [name!.slice(1, -1), value])), {
    depth_budget: String(budgets.depthMax),
    entry_count_budget: budgets.entriesMax.toLocaleString('en'),
    entry_bytes_budget: `${budgets.entryBytesMax / MIB} MiB`,
    archive_bytes_budget: `${budgets.archiveBytesMax / MIB} MiB`,
    root_bytes_budget: `${budgets.rootBytesMax / MIB} MiB`,
    ratio_budget: String(budgets.ratioMax),
    name_budget: `${budgets.nameBytesMax.toLocaleString('en')} bytes`,
  });
  assert.ok(page.text.includes(`is checked from ${RATIO_FLOOR_BYTES / MIB} MiB on`));
});

test('detects a zip file for each suffix that the page lists', () => {
  const [, list] = /so files\s+called ([\s\S]*?)\(and\s+similar\)/.exec(page.text)!;
  const suffixes = [...list!.matchAll(/`(\.\w+)`/g)].map((match) => match[1]!);
  assert.ok(suffixes.length > 15);
  for (const suffix of suffixes) assert.equal(detectArchive(`a${suffix}`, Buffer.alloc(100, 'x')), 'zip', suffix);
  assert.equal(detectArchive('a.txt', Buffer.alloc(100, 'x')), null);
});
