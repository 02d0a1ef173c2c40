import assert from 'node:assert/strict';
import { test } from 'node:test';

import { separated } from '../../src/archive/sqlite/remains.ts';

/** Bytes that look like the types of a deleted row at each place, and like another row behind each of them. */
const HOSTILE = [0x15, 0x40];
/** Without a bound, these take minutes. */
const PAGES = 12;

test(
  'a page made to look like rows everywhere is abandoned after a bounded number of steps',
  { timeout: 60_000 },
  () => {
    const page = Buffer.alloc(65_536, Buffer.from(HOSTILE));
    for (let number = 0; number < PAGES; number += 1) {
      const shapes = Array.from({ length: 64 }, (_each, columns) => ({ columns: columns + 2, firstSizes: [1, 40] }));
      const length = separated(page, { encoding: 'utf8', shapes }).length;
      assert.ok(length >= page.length && length <= 2 * page.length);
    }
  },
);
