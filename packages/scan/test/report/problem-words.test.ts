import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SCAN_DEFAULTS } from '../../src/options.ts';
import { PROBLEM_WORDS } from '../../src/report/problem-words.ts';
import { readPage, tableRows } from '@heddle/test-support/docs/pages';

const rows = tableRows(readPage('docs/scanning/secrets.md'));

test('the page explains every problem code, in order', () => {
  const codes = rows.map(([code]) => /^`([a-z_]+)`$/.exec(code ?? '')?.[1] ?? '');
  assert.deepEqual(
    codes.filter((code) => code.includes('_') || Object.hasOwn(PROBLEM_WORDS, code)),
    Object.keys(PROBLEM_WORDS),
  );
});

test('the archive budgets on the page are the default ones', () => {
  const figure = (code: string): number => {
    const text = rows.find(([first]) => first === `\`${code}\``)?.[1] ?? '';
    const [, number = '', unit] = /\(?([\d,]+)( MiB| bytes)?\)/.exec(text) ?? /([\d,]+)( bytes)/.exec(text) ?? [];
    return Number(number.replaceAll(',', '')) * (unit === ' MiB' ? 1024 * 1024 : 1);
  };
  assert.deepEqual(
    [
      figure('depth_budget'),
      figure('entry_count_budget'),
      figure('entry_bytes_budget'),
      figure('archive_bytes_budget'),
      figure('root_bytes_budget'),
      figure('ratio_budget'),
      figure('name_budget'),
    ],
    [
      SCAN_DEFAULTS.archives.depthMax,
      SCAN_DEFAULTS.archives.entriesMax,
      SCAN_DEFAULTS.archives.entryBytesMax,
      SCAN_DEFAULTS.archives.archiveBytesMax,
      SCAN_DEFAULTS.archives.rootBytesMax,
      SCAN_DEFAULTS.archives.ratioMax,
      SCAN_DEFAULTS.archives.nameBytesMax,
    ],
  );
});

test('advice names only existing options', () => {
  const options = readPage('docs/cli.md').text;
  for (const { title, advice } of Object.values(PROBLEM_WORDS)) {
    for (const [flag] of `${title} ${advice ?? ''}`.matchAll(/--[a-z-]+/g)) assert.ok(options.includes(flag), flag);
  }
});
