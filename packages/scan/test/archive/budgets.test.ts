import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { BudgetFault, RootBudget, type ArchiveContext } from '../../src/archive/context.ts';
import { openArchive } from '../../src/archive/open-archive.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import { buildTar } from '../support/archive/corpus/tar.ts';
import { buildZip } from '../support/archive/corpus/zip.ts';
import { briefly, contents, MemoryReader, readArchive, readers, type ReadOptions } from '../support/archive/reading.ts';

const FILES = [
  { name: 'small.txt', content: 'small' },
  { name: 'large.txt', content: 'x'.repeat(1000) },
  { name: 'last.txt', content: 'last' },
];

/** The same files in each kind of archive, and how to read it. */
const KINDS: Readonly<Record<string, { path: string; bytes: Buffer; options: ReadOptions }>> = {
  zip: { path: 'a.zip', bytes: buildZip(FILES), options: {} },
  'stored zip': { path: 'a.zip', bytes: buildZip(FILES.map((file) => ({ ...file, stored: true }))), options: {} },
  'zip front to back': { path: 'a.zip', bytes: buildZip(FILES), options: { access: 'carry' } },
  'zip with sizes after the data': {
    path: 'a.zip',
    bytes: buildZip(FILES.map((file) => ({ ...file, descriptor: 'marked' as const }))),
    options: { access: 'carry' },
  },
  tar: { path: 'a.tar', bytes: buildTar(FILES), options: {} },
  'tar.gz': { path: 'a.tar.gz', bytes: gzipSync(buildTar(FILES)), options: {} },
};

for (const [kind, { path, bytes, options }] of Object.entries(KINDS)) {
  suite(`budgets of ${kind}`, () => {
    test('an entry that is too large is cut exactly at the limit, and the archive continues', async () => {
      const read = await readArchive(path, bytes, { ...options, budgets: { entryBytesMax: 100 } });
      assert.deepEqual(briefly(read.problems), [`entry_bytes_budget partial ${path}!large.txt`]);
      assert.deepEqual(contents(read), { 'small.txt': 'small', 'large.txt': 'x'.repeat(100), 'last.txt': 'last' });
    });

    test('an entry exactly at the limit is no problem', async () => {
      const read = await readArchive(path, bytes, { ...options, budgets: { entryBytesMax: 1000 } });
      assert.deepEqual(read.problems, []);
    });

    test('the archive ends after the maximum number of entries', async () => {
      const read = await readArchive(path, bytes, { ...options, budgets: { entriesMax: 2 } });
      assert.deepEqual(briefly(read.problems), [`entry_count_budget partial ${path}`]);
      assert.equal(read.entries.length, 2);
      assert.deepEqual((await readArchive(path, bytes, { ...options, budgets: { entriesMax: 3 } })).problems, []);
    });

    test('skipped entries cost only the bytes that must be read', async () => {
      const read = await readArchive(path, bytes, { ...options, abandon_after_bytes: 0 });
      assert.deepEqual(read.problems, []);
      assert.deepEqual(
        read.entries.map(({ name }) => name),
        FILES.map(({ name }) => name),
      );
    });

    test('abandoned entries cost only the bytes that were read', async () => {
      const read = await readArchive(path, bytes, { ...options, abandon_after_bytes: 10, target_bytes: 10 });
      assert.deepEqual(read.problems, []);
      assert.equal(contents(read)['last.txt'], 'last');
    });
  });
}

test('counts the bytes of all entries of an archive', async () => {
  for (const [kind, { path, bytes, options }] of Object.entries(KINDS)) {
    if (kind === 'tar.gz') continue;
    const read = await readArchive(path, bytes, { ...options, budgets: { archiveBytesMax: 505 } });
    assert.deepEqual(briefly(read.problems).slice(0, 1), [`archive_bytes_budget partial ${path}!large.txt`], kind);
    assert.equal(contents(read)['large.txt'], 'x'.repeat(500), kind);
    assert.ok(!('last.txt' in contents(read)), kind);
    assert.deepEqual(briefly(read.problems).slice(1), [`archive_bytes_budget partial ${path}`], kind);
  }
});

test('in a compressed tar file everything unpacked counts, including headers', async () => {
  const { path, bytes } = KINDS['tar.gz']!;
  const read = await readArchive(path, bytes, { budgets: { archiveBytesMax: 512 + 512 + 512 + 500 } });
  assert.deepEqual([...new Set(briefly(read.problems))], [`archive_bytes_budget partial ${path}`]);
  assert.deepEqual(contents(read), { 'small.txt': 'small', 'large.txt': 'x'.repeat(500) });
});

test('the root budget counts unpacked bytes across all levels', async () => {
  const inner = buildZip([{ name: 'a', content: 'x'.repeat(600) }]);
  const outer = buildZip([
    { name: '1.zip', content: inner, stored: true },
    { name: '2.zip', content: inner, stored: true },
  ]);
  const all = 2 * (inner.length + 600);
  const fits = await readArchive('o.zip', outer, { nested: true, budgets: { rootBytesMax: all } });
  assert.deepEqual(fits.problems, []);
  assert.equal(fits.unpacked_bytes, all);
  const ends = await readArchive('o.zip', outer, { nested: true, budgets: { rootBytesMax: all - 100 } });
  assert.equal(ends.problems[0]?.code, 'root_bytes_budget');
  assert.equal(contents(ends)['2.zip!a'], 'x'.repeat(500));
});

test('data below the floor may exceed the ratio', async () => {
  const read = await readArchive('a.gz', gzipSync(Buffer.alloc(3 * 1024 * 1024)));
  assert.deepEqual(read.problems, []);
});

test('a tar.gz is one level', async () => {
  const deep = gzipSync(
    buildTar([{ name: 'b.tgz', content: gzipSync(buildTar([{ name: 'c.txt', content: 'deep'.repeat(200) }])) }]),
  );
  const read = await readArchive('a.tgz', deep, { nested: true, budgets: { depthMax: 2 } });
  assert.deepEqual(read.problems, []);
  assert.deepEqual(Object.keys(contents(read)), ['b.tgz!c.txt']);
  const shallow = await readArchive('a.tgz', deep, { nested: true, budgets: { depthMax: 1 } });
  assert.deepEqual(briefly(shallow.problems), ['depth_budget skipped a.tgz!b.tgz']);
});

test('an exhausted budget reports its level every time', async () => {
  const context = (budgets: Partial<typeof SCAN_DEFAULTS.archives>): ArchiveContext => {
    const all = { ...SCAN_DEFAULTS.archives, ...budgets };
    return {
      path: 'a.zip',
      depth: 0,
      options: all,
      root: new RootBudget(all),
      report: () => undefined,
    };
  };
  const levelOf = async (budgets: Partial<typeof SCAN_DEFAULTS.archives>): Promise<string[]> => {
    const archive = await openArchive('zip', new MemoryReader(buildZip(FILES)), context(budgets));
    const faults: BudgetFault[] = [];
    const catching = async (work: () => unknown): Promise<void> => {
      try {
        await work();
      } catch (error) {
        assert.ok(error instanceof BudgetFault);
        faults.push(error);
      }
    };
    await archive.next();
    const reader = (await archive.next())!.open();
    const target = new Uint8Array(2000);
    await catching(async () => {
      for (let offset = 0, count = -1; count !== 0; offset += count) count = await reader.read(target, 0, 2000, offset);
    });
    await catching(() => reader.read(target, 0, 2000, 0));
    await reader.close();
    await catching(() => archive.next());
    await archive.close();
    return faults.map(({ level, problem }) => `${level} ${problem.code}`);
  };
  const before = readers.open;
  assert.deepEqual(await levelOf({ entryBytesMax: 10 }), Array(2).fill('entry entry_bytes_budget'));
  assert.deepEqual(await levelOf({ archiveBytesMax: 10 }), Array(3).fill('archive archive_bytes_budget'));
  assert.deepEqual(await levelOf({ rootBytesMax: 10 }), Array(3).fill('root root_bytes_budget'));
  assert.equal(readers.open, before);
});
