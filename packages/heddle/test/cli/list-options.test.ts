import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fullPage } from '../../src/cli/output/list-options.ts';

interface Answer {
  items: number[];
  next: string | null;
}

/** Reads pages by their cursors, and notes which were read. */
function pagesOf(pages: Readonly<Record<string, Answer>>): {
  read: (after?: string) => Promise<Answer>;
  seen: string[];
} {
  const seen: string[] = [];
  return {
    seen,
    read(after = 'first') {
      seen.push(after);
      return Promise.resolve(pages[after]!);
    },
  };
}

test('a list reads on while the server examined much and found little', async () => {
  const { read, seen } = pagesOf({
    first: { items: [], next: 'a' },
    a: { items: [1], next: 'b' },
    b: { items: [2, 3], next: 'c' },
  });
  assert.deepEqual(await fullPage(read, { pageSize: 3 }), { items: [1, 2, 3], next: 'c' });
  assert.deepEqual(seen, ['first', 'a', 'b']);
});

test('a list ends with the last page, however few it has', async () => {
  const { read } = pagesOf({ first: { items: [1], next: 'a' }, a: { items: [], next: null } });
  assert.deepEqual(await fullPage(read, {}), { items: [1], next: null });
});

test('a page by its number is read alone', async () => {
  const { read, seen } = pagesOf({ first: { items: [1], next: 'a' } });
  assert.deepEqual(await fullPage(read, { page: 2, pageSize: 3 }), { items: [1], next: 'a' });
  assert.deepEqual(seen, ['first']);
});
