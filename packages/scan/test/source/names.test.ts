import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import fc from 'fast-check';

import { ENTRY, indexAfter, indexOfName, NameCollector } from '../../src/source/directory/names.ts';

function collect(names: readonly string[]) {
  const collector = new NameCollector();
  for (const [index, name] of names.entries()) collector.add(name, index % 2 === 0 ? ENTRY.file : ENTRY.directory);
  return collector.finish();
}

/** Measures held memory, without uncollected garbage. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

describe('names of a directory', () => {
  it('sort by their bytes, few or many, with their types', () => {
    const alphabet = fc.constantFrom('a', 'b', 'ab', '\x01', '\xff', '.', 'prefix-that-is-shared-');
    const names = fc.uniqueArray(fc.array(alphabet, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('')));
    fc.assert(
      fc.property(names, (few) => {
        // Above the limit, the same names have another representation.
        const many = [...few, ...Array.from({ length: 9_000 }, (_, index) => `n${(index * 7_919) % 9_000}`)];
        for (const all of [few, many]) {
          const list = collect(all);
          const sorted = [...all.entries()].sort(([, left], [, right]) => (left < right ? -1 : left > right ? 1 : 0));
          assert.equal(list.length, all.length);
          for (const [place, [index, name]] of sorted.entries()) {
            assert.equal(list.name(place), name);
            assert.equal(list.kind(place), index % 2 === 0 ? ENTRY.file : ENTRY.directory);
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  it('take few bytes more than their length, if they are many', () => {
    const collector = new NameCollector();
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    const count = 500_000;
    for (let index = 0; index < count; index += 1)
      collector.add(`a-file-of-many-${(index * 7_919) % count}`, ENTRY.file);
    const list = collector.finish();
    collectGarbage();
    const bytes = process.memoryUsage().arrayBuffers - before;
    assert.equal(list.length, count);
    assert.equal(list.name(count - 1), 'a-file-of-many-99999');
    // 21 of the name, 2 beside it, 4 for its offset, plus half as much of spare capacity.
    assert.ok(bytes / count < 42, `${bytes / count} bytes a name`);
  });

  it('are found, and so are their successors', () => {
    const list = collect(['b', 'd', 'dd']);
    assert.deepEqual(
      ['a', 'b', 'c', 'd', 'dd', 'e'].map((name) => indexAfter(list, name)),
      [0, 1, 1, 2, 3, 3],
    );
    assert.deepEqual(
      ['a', 'b', 'c', 'dd', 'e'].map((name) => indexOfName(list, name)),
      [-1, 0, -1, 2, -1],
    );
  });
});
