import assert from 'node:assert/strict';
import { test } from 'node:test';

import { RATIO_FLOOR_BYTES } from '../../src/archive/context.ts';
import { detectArchive } from '../../src/archive/detect.ts';
import { ARCHIVE_BUDGETS_DEFAULT } from '../../src/options.ts';
import { readPage, tableRows } from '@heddle/test-support/docs/pages';

const MIB = 1024 * 1024;
const page = readPage('docs/scan-archives.md');

test('the page states the default budgets', () => {
  const budgets = ARCHIVE_BUDGETS_DEFAULT;
  const stated = tableRows(page).filter(([name]) => name!.endsWith('_budget`'));
  assert.deepEqual(Object.fromEntries(stated.map(([name, , value]) => [name!.slice(1, -1), value])), {
    depth_budget: String(budgets.depth_max),
    entry_count_budget: budgets.entries_max.toLocaleString('en'),
    entry_bytes_budget: `${budgets.entry_bytes_max / MIB} MiB`,
    archive_bytes_budget: `${budgets.archive_bytes_max / MIB} MiB`,
    root_bytes_budget: `${budgets.root_bytes_max / MIB} MiB`,
    ratio_budget: String(budgets.ratio_max),
    name_budget: `${budgets.name_bytes_max.toLocaleString('en')} bytes`,
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
