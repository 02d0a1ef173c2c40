/** 7z and RAR archives, RPM packages, initial RAM disks and images of other programs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import { MEMORY_BYTES_MAX } from '../../src/archive/memory-copy.ts';
import { detectArchive } from '../../src/archive/open-archive.ts';
import type { ArchiveFormat } from '../../src/archive/port.ts';
import { rar4, rar5, type RarEntry } from '../support/archive/corpus/rar.ts';
import { briefly, contents, readArchive } from '../support/archive/reading.ts';

const LIST = Array.from({ length: 300 }, (_, i) => `line ${i} of a list that packs well\n`).join('');
const HELLO = 'hello, archive\n';
const FILES = { 'tree/greeting.txt': HELLO, 'tree/empty': '', 'tree/sub/list.txt': LIST };

function fixture(name: string): Buffer {
  return readFileSync(join(import.meta.dirname, 'fixtures', name));
}

suite('7z archives', () => {
  for (const name of ['tree', 'lzma', 'lzma2', 'bzip2', 'deflate', 'copy', 'apart', 'filtered']) {
    test(`${name}.7z is read, whatever its method`, async () => {
      for (const read_bytes of [Infinity, 7]) {
        const read = await readArchive(`${name}.7z`, fixture(`${name}.7z`), { read_bytes, later: read_bytes === 7 });
        assert.deepEqual(read.problems, []);
        assert.deepEqual(contents(read), FILES);
      }
    });
  }

  test('what is encrypted or packed otherwise is reported', async () => {
    const ppmd = await readArchive('ppmd.7z', fixture('ppmd.7z'));
    assert.deepEqual(
      briefly(ppmd.problems),
      [
        'unsupported_archive skipped ppmd.7z!tree/sub/list.txt',
        'unsupported_archive skipped ppmd.7z!tree/greeting.txt',
      ].sort(inOrderOf(ppmd)),
    );
    const encrypted = await readArchive('a.7z', fixture('encrypted.7z'));
    assert.deepEqual(
      [...new Set(encrypted.problems.map(({ code, extent }) => `${code} ${extent}`))],
      ['encrypted skipped'],
    );
    assert.equal(encrypted.entries.length, 3);
    const hidden = await readArchive('a.7z', fixture('hidden.7z'));
    assert.deepEqual(briefly(hidden.problems), ['encrypted skipped a.7z']);
    const inOrder = await readArchive('a.7z', fixture('tree.7z'), { access: 'carry' });
    assert.deepEqual([inOrder.problems, contents(inOrder)], [[], FILES]);
    const large = Buffer.concat([fixture('tree.7z'), Buffer.alloc(MEMORY_BYTES_MAX)]);
    const refused = await readArchive('a.7z', large, { access: 'carry' });
    assert.deepEqual(briefly(refused.problems), ['unsupported_archive skipped a.7z']);
  });

  test('the bytes of a solid block count against the limits, and those of entries', async () => {
    const bytes = fixture('lzma2.7z');
    const small = await readArchive('a.7z', bytes, { budgets: { archiveBytesMax: 5000 } });
    assert.ok(small.problems.every(({ code }) => code === 'archive_bytes_budget'));
    const entry = await readArchive('a.7z', bytes, { budgets: { entryBytesMax: 100 } });
    assert.deepEqual(briefly(entry.problems), ['entry_bytes_budget partial a.7z!tree/sub/list.txt']);
    assert.equal(contents(entry)['tree/greeting.txt'], HELLO);
  });
});

function inOrderOf({ entries }: { entries: readonly { name: string }[] }) {
  const place = (problem: string): number => entries.findIndex(({ name }) => problem.endsWith(`!${name}`));
  return (a: string, b: string): number => place(a) - place(b);
}

const ENTRIES: readonly RarEntry[] = [
  { name: 'etc', directory: true },
  { name: 'etc/stored.env', content: 'KEY=one\n' },
  { name: 'etc/packed', content: 'xxxx', packed: true },
  { name: 'etc/secret', content: 'xxxx', encrypted: true },
  { name: 'last', content: HELLO },
];

suite('RAR archives', () => {
  for (const [version, build] of [
    ['4', rar4],
    ['5', rar5],
  ] as const) {
    test(`version ${version}: stored entries are read, others are named and reported`, async () => {
      for (const access of ['range', 'carry'] as const) {
        const read = await readArchive('a.rar', build(ENTRIES), { access });
        assert.deepEqual(briefly(read.problems), [
          'unsupported_archive skipped a.rar!etc/packed',
          'encrypted skipped a.rar!etc/secret',
        ]);
        assert.deepEqual(contents(read), {
          'etc/stored.env': 'KEY=one\n',
          'etc/packed': '',
          'etc/secret': '',
          last: HELLO,
        });
      }
      const wrong = await readArchive('a.rar', build([{ name: 'a', content: 'x', crc: 1 }]));
      assert.deepEqual(briefly(wrong.problems), ['malformed_archive notice a.rar!a']);
      const hidden = await readArchive('a.rar', build([], { isHidden: true }));
      assert.deepEqual(briefly(hidden.problems), ['encrypted skipped a.rar']);
    });
  }
});

suite('packages', () => {
  for (const name of ['xzdio', 'gzdio', 'zstdio', 'bzdio']) {
    test(`the RPM package ${name}.rpm is read, with its scripts`, async () => {
      for (const access of ['range', 'carry'] as const) {
        const read = await readArchive(`${name}.rpm`, fixture(`${name}.rpm`), { access });
        assert.deepEqual(read.problems, []);
        const { header, ...files } = contents(read);
        assert.match(header!, /echo at-installation/);
        assert.deepEqual(files, { './etc/greeting.conf': HELLO });
      }
    });
  }

  test('an initial RAM disk is read, with the compressed one behind it', async () => {
    const read = await readArchive('initrd.cpio', fixture('initrd.cpio'), { nested: true });
    assert.deepEqual(read.problems, []);
    assert.equal(contents(read)['tree/greeting.txt'], HELLO);
    assert.equal(contents(read)['appended!appended!tree/greeting.txt'], HELLO);
  });

  test('images that Podman saves are read by layers', async () => {
    for (const name of ['podman-docker.tar', 'podman-oci.tar']) {
      const read = await readArchive(name, fixture(name), { nested: true });
      assert.deepEqual(read.problems, []);
      const found = Object.entries(contents(read));
      const of = (end: RegExp): string | undefined => found.find(([path]) => end.test(path))?.[1];
      assert.match(of(/^config \(sha256:\w{12}\)\/env$/) ?? '', /^MADE=up$/m);
      assert.equal(of(/^layer 1 \(sha256:\w{12}\)!etc\/one$/), 'one\n');
      assert.equal(of(/^layer 2 \(sha256:\w{12}\)!etc\/two$/), 'two\n');
    }
  });
});

const DAMAGED: readonly string[] = [
  ...['tree.7z', 'apart.7z', 'bzip2.7z', 'xzdio.rpm', 'gzdio.rpm', 'newc.cpio', 'odc.cpio', 'frames.lz4', 'legacy.lz4'],
  ...['lzma.zip', 'podman-docker.tar', 'podman-oci.tar'],
];

suite('damaged archives of these formats', () => {
  const corpus: (readonly [string, Buffer])[] = [
    ...DAMAGED.map((name) => [name, fixture(name)] as const),
    ['4.rar', rar4(ENTRIES)],
    ['5.rar', rar5(ENTRIES)],
  ];
  for (const [name, bytes] of corpus) {
    const format = detectArchive(name, bytes.subarray(0, 512))!;
    test(`${name}: one that ends early is reported, and nothing is read that it lacks`, async () => {
      const whole = contents(await read(name, bytes, format));
      for (let length = 16; length < bytes.length; length += 1 + Math.floor(bytes.length / 60)) {
        const result = await read(name, bytes.subarray(0, length), format);
        for (const [entry, content] of Object.entries(contents(result))) {
          if (entry === 'header' || entry === 'appended') continue;
          assert.ok(whole[entry]?.startsWith(content) === true || result.problems.length > 0, `${length}: ${entry}`);
        }
      }
    });

    test(`${name}: any change of its bytes is a problem at most`, async () => {
      const change = fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) });
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
          const changed = Buffer.from(bytes);
          for (const { at, byte } of changes) changed[at] = byte;
          const { problems } = await read(name, changed, format);
          assert.ok(problems.every(({ code }) => code !== 'unreadable'));
        }),
        { numRuns: Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 60) },
      );
    });
  }
});

function read(name: string, bytes: Uint8Array, format: ArchiveFormat): ReturnType<typeof readArchive> {
  return readArchive(name, bytes, { format, budgets: { archiveBytesMax: 4 * 1024 * 1024 } });
}
