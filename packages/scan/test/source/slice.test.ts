/** Parts of a directory walk, which together cover all of it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';

import { EnumCursor } from '../../src/graph/cursor.ts';
import type { PathSlice } from '../../src/options.ts';
import { rootLocatorOf } from '../../src/source/byte-path.ts';
import { openSource } from '../../src/source/open-source.ts';
import { placeOf } from '../../src/source/slice.ts';

let root: string;

before(() => {
  root = mkdtempSync(join(tmpdir(), 'heddle-slice-'));
  const files = ['a', 'a.b/c', 'a/x', 'a-', 'b/1', 'b/2/3', 'b/2/4', 'b.txt', 'ä', 'z/last', 'deep/er/and/deeper/file'];
  for (const file of files.filter((name) => name !== 'a')) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), file);
  }
});

after(() => rmSync(root, { recursive: true }));

async function list(slice?: PathSlice, limit = 3): Promise<string[]> {
  const source = await openSource({ type: 'path', path: root, ...(slice === undefined ? {} : { slice }) });
  const found: string[] = [];
  for (let cursor = EnumCursor.start(); !cursor.isDone;) {
    const batch = await source.enumerate(cursor, limit);
    found.push(...batch.objects.map(({ locator }) => locator));
    cursor = batch.cursor;
  }
  await source.close();
  return found;
}

test('adjacent slices cover everything, for any boundary and batch size', async () => {
  const whole = await list();
  assert.equal(whole.length, 10);
  const places = whole.map((locator) => placeOf({ locator }, rootLocatorOf({ path: root })));
  for (const limit of [1, 2, 100]) {
    for (let first = 0; first < whole.length; first += 1) {
      for (let second = first; second < whole.length; second += 1) {
        const cuts = [null, places[first]!, places[second]!, null];
        const parts = await Promise.all(
          [0, 1, 2].map((part) => list({ from: cuts[part]!, through: cuts[part + 1]! }, limit)),
        );
        assert.deepEqual(parts.flat(), whole);
        assert.equal(parts[0]!.length, first + 1);
      }
    }
  }
});

test('a slice includes later additions between its ends, neither of which needs to exist', async () => {
  const between = { from: ['b', '1.5'], through: ['b.zzz'] };
  const names = (await list(between)).map((locator) => locator.slice(root.length + 1));
  assert.deepEqual(names, ['b/2/3', 'b/2/4', 'b.txt']);
});
