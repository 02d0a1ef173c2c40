import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { buildTar, paxRecord, BLOCK } from '../support/archive/corpus/tar.ts';
import { buildZip, type ZipEntry } from '../support/archive/corpus/zip.ts';
import { briefly, contents, readArchive } from '../support/archive/reading.ts';

const A: ZipEntry = { name: 'a', content: 'first' };
const Z: ZipEntry = { name: 'z', content: 'last' };
const UNIX = 3;

/** A middle entry between two valid ones, and the expected report when read by the directory. */
const LIES: Readonly<Record<string, { entry: ZipEntry; content: string; reports: readonly string[] }>> = {
  'a size that is too small': {
    entry: { name: 'm', content: 'middle', directory: { size: 3 }, local: { size: 3 } },
    content: 'middle',
    reports: ['malformed_archive notice a.zip!m'],
  },
  'a size that is too large': {
    entry: { name: 'm', content: 'middle', directory: { size: 4_000_000_000 }, local: { size: 4_000_000_000 } },
    content: 'middle',
    reports: ['malformed_archive notice a.zip!m'],
  },
  'a wrong checksum': {
    entry: { name: 'm', content: 'middle', directory: { crc: 1 }, local: { crc: 1 } },
    content: 'middle',
    reports: ['malformed_archive notice a.zip!m'],
  },
  'a local header with another name': {
    entry: { name: 'm', content: 'middle', local: { name: 'other' } },
    content: 'middle',
    reports: ['malformed_archive notice a.zip!m'],
  },
  'a local header with another method': {
    entry: { name: 'm', content: 'middle', local: { method: 0 } },
    content: 'middle',
    reports: ['malformed_archive notice a.zip!m'],
  },
  'an offset beyond the end': {
    entry: { name: 'm', content: 'middle', directory: { offset: 1_000_000 } },
    content: '',
    reports: ['malformed_archive skipped a.zip!m'],
  },
  'an offset into other data': {
    entry: { name: 'm', content: 'x'.repeat(100), stored: true, directory: { offset: 60, packed_size: 2 } },
    content: '',
    reports: ['malformed_archive skipped a.zip!m'],
  },
  'data that is not deflate': {
    entry: { name: 'm', packed: Buffer.alloc(50, 0xff), directory: { size: 10 } },
    content: '',
    reports: ['malformed_archive skipped a.zip!m'],
  },
  'truncated deflate data': {
    entry: { name: 'm', content: 'x', directory: { packed_size: 1 } },
    content: '',
    reports: ['malformed_archive skipped a.zip!m'],
  },
  'an unknown method': {
    entry: { name: 'm', content: 'x', directory: { method: 77 }, local: { method: 77 } },
    content: '',
    reports: ['unsupported_archive skipped a.zip!m'],
  },
  'a link with much content': {
    entry: { name: 'm', content: 'x'.repeat(5000), directory: { made_by: UNIX, attributes: 0xa1ff0000 } },
    content: 'x'.repeat(5000),
    reports: [],
  },
  'a directory with content': {
    entry: { name: 'm/', content: 'hidden', directory: { made_by: UNIX, attributes: 0x41ed0000 } },
    content: 'hidden',
    reports: [],
  },
};

suite('zip: entries with contradictory headers', () => {
  for (const [name, { entry, content, reports }] of Object.entries(LIES)) {
    test(name, async () => {
      const read = await readArchive('a.zip', buildZip([A, entry, Z]));
      assert.deepEqual(briefly(read.problems), reports);
      assert.deepEqual(contents(read), { a: 'first', [String(entry.name)]: content, z: 'last' });
    });
  }

  test('without a directory, entries are read by their own headers', async () => {
    const whole = buildZip([A, Z]);
    const cut = whole.subarray(0, whole.indexOf('PK\x01\x02'));
    const read = await readArchive('a.zip', cut);
    assert.deepEqual(contents(read), { a: 'first', z: 'last' });
    assert.deepEqual(briefly(read.problems), ['malformed_archive partial a.zip', 'malformed_archive partial a.zip']);
  });

  test('a damaged directory line: the entries before it are read', async () => {
    const bytes = buildZip([A, Z]);
    bytes[bytes.lastIndexOf('PK\x01\x02')] = 0;
    const read = await readArchive('a.zip', bytes);
    assert.deepEqual(contents(read), { a: 'first' });
    assert.deepEqual(briefly(read.problems), ['malformed_archive partial a.zip']);
  });

  test('the number of entries differs from the declared one', async () => {
    const read = await readArchive('a.zip', buildZip([A, Z], { stated_entries: 7 }));
    assert.deepEqual(contents(read), { a: 'first', z: 'last' });
    assert.deepEqual(briefly(read.problems), ['malformed_archive notice a.zip']);
  });

  test('no entries, and no zip file at all', async () => {
    assert.deepEqual((await readArchive('a.zip', buildZip([]))).problems, []);
    for (const access of ['range', 'carry'] as const) {
      const none = await readArchive('a.zip', Buffer.from('it only has the name of one'.repeat(10)), { access });
      assert.equal(none.entries.length, 0);
      assert.equal(none.problems.at(-1)?.code, 'malformed_archive');
    }
  });
});

suite('zip front to back', () => {
  const read = async (entries: ZipEntry[]): ReturnType<typeof readArchive> =>
    readArchive('a.zip', buildZip(entries), { access: 'carry', read_bytes: 11 });

  for (const descriptor of ['marked', 'unmarked'] as const) {
    test(`sizes after the data, ${descriptor}`, async () => {
      const result = await read([A, { name: 'm', content: 'middle', descriptor }, { name: 'e', descriptor }, Z]);
      assert.deepEqual(contents(result), { a: 'first', m: 'middle', e: '', z: 'last' });
      assert.deepEqual(result.problems, []);
    });
  }

  test('stored data ends before a descriptor with the right size, not before any other', async () => {
    const content = `PK\x07\x08${'\x01'.repeat(12)}PK\x03\x04 and more`;
    const result = await read([A, { name: 'm', content, stored: true, descriptor: 'marked' }, Z]);
    assert.deepEqual(contents(result), { a: 'first', m: content, z: 'last' });
    assert.deepEqual(result.problems, []);
  });

  test('damaged data of unknown length: the entry is reported, and the next one found', async () => {
    const result = await read([A, { name: 'm', packed: Buffer.alloc(50, 0xff), descriptor: 'marked' }, Z]);
    assert.deepEqual(contents(result), { a: 'first', m: '', z: 'last' });
    assert.deepEqual(briefly(result.problems), ['malformed_archive skipped a.zip!m']);
  });
});

suite('tar', () => {
  const damaged = { name: 'damaged', content: 'lost', damaged: true };

  test('a damaged header is reported, and the next intact one found', async () => {
    const read = await readArchive(
      'a.tar',
      buildTar([{ name: 'a', content: 'first' }, damaged, { name: 'z', content: 'last' }]),
    );
    assert.deepEqual(contents(read), { a: 'first', z: 'last' });
    assert.deepEqual(briefly(read.problems), ['malformed_archive partial a.tar']);
  });

  test('a truncated archive is never taken for complete, wherever the cut is', async () => {
    const whole = buildTar([{ name: 'a', content: 'x'.repeat(700) }], false);
    const header = buildTar([{ name: 'pax', type: 'x', content: paxRecord('size', '4') }], false);
    const cuts = {
      'after an entry': whole,
      'within the padding of an entry': whole.subarray(0, BLOCK + 700),
      'after an extended header': Buffer.concat([whole, header]),
      'after an extended header and zeros': Buffer.concat([whole, header, Buffer.alloc(2 * BLOCK)]),
    };
    for (const [cut, bytes] of Object.entries(cuts)) {
      for (const access of ['range', 'carry'] as const) {
        const read = await readArchive('a.tar', bytes, { access });
        assert.equal(contents(read)['a'], 'x'.repeat(700), cut);
        assert.ok(briefly(read.problems).includes('malformed_archive partial a.tar'), cut);
      }
    }
    const marked = await readArchive('a.tar', Buffer.concat([whole, Buffer.alloc(BLOCK)]));
    assert.deepEqual(marked.problems, [], 'one block of zeros is an end marker');
    const cut = await readArchive('a.tar', whole.subarray(0, BLOCK + 600));
    assert.deepEqual(briefly(cut.problems), ['malformed_archive partial a.tar!a', 'malformed_archive partial a.tar']);
    assert.equal(contents(cut)['a'], 'x'.repeat(600));
  });

  test('entries other than files are reported by their kind', async () => {
    const types = { '1': 'link', '2': 'link', '3': 'special', '4': 'special', '5': 'directory', '6': 'special' };
    const read = await readArchive(
      'a.tar',
      buildTar(Object.keys(types).map((type) => ({ name: type, type, link: '/etc/passwd' }))),
    );
    assert.deepEqual(Object.fromEntries(read.entries.map(({ name, kind }) => [name, kind])), types);
    assert.deepEqual(read.problems, []);
  });

  test('a hard link may, but need not, have content of its own', async () => {
    const pax = { name: 'pax', type: 'x', content: paxRecord('size', '4') };
    const read = await readArchive(
      'a.tar',
      buildTar([
        { name: 'stated', type: '1', size: 5 },
        { name: 'a', content: 'first' },
        pax,
        { name: 'own', type: '1', content: 'mine', size: 0 },
        { name: 'z', content: 'last' },
      ]),
    );
    assert.deepEqual(contents(read), { stated: '', a: 'first', own: 'mine', z: 'last' });
  });

  test('names and sizes in extended headers, in binary and with a prefix', async () => {
    const binary = Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]);
    const read = await readArchive(
      'a.tar',
      buildTar([
        { name: 'g', type: 'g', content: paxRecord('path', 'of-all') },
        {
          name: 'x',
          type: 'x',
          content: Buffer.concat([paxRecord('mtime', '1.5'), paxRecord('path', 'by-pax'), paxRecord('size', '5')]),
        },
        { name: 'a', content: 'first', size: 1 },
        { name: 'binary', content: 'right', raw_size: binary },
        { name: 'z', prefix: 'in/front', content: 'last' },
        { name: 'old/', magic: '' },
      ]),
    );
    assert.deepEqual(contents(read), { 'by-pax': 'first', binary: 'right', 'in/front/z': 'last' });
    assert.equal(read.entries.at(-1)?.kind, 'directory');
    assert.deepEqual(read.problems, []);
  });

  test('invalid sizes end the archive', async () => {
    for (const raw of [
      Buffer.alloc(12, 0xff),
      Buffer.from('not a number'),
      Buffer.from([0x80, ...Buffer.alloc(11, 0xff)]),
    ]) {
      const read = await readArchive(
        'a.tar',
        buildTar([
          { name: 'a', content: 'first' },
          { name: 'b', raw_size: raw },
        ]),
      );
      assert.deepEqual(briefly(read.problems), ['malformed_archive partial a.tar']);
    }
  });

  test('endless extended headers', async () => {
    const pax = { name: 'x', type: 'x', content: paxRecord('comment', 'and on') };
    const read = await readArchive(
      'a.tar',
      buildTar([...Array<typeof pax>(1000).fill(pax), { name: 'a', type: '0', content: paxRecord('x', 'y') }]),
    );
    assert.deepEqual(briefly(read.problems), ['malformed_archive skipped a.tar']);
    assert.equal(read.entries.length, 0);
  });

  test('trailing data is reported', async () => {
    const bytes = Buffer.concat([buildTar([{ name: 'a', content: 'first' }]), Buffer.alloc(BLOCK, 'x')]);
    const read = await readArchive('a.tar', bytes);
    assert.deepEqual(contents(read), { a: 'first' });
    assert.deepEqual(briefly(read.problems), ['malformed_archive partial a.tar']);
  });
});

suite('gzip', () => {
  test('every field of the header', async () => {
    const plain = gzipSync('content');
    const header = Buffer.from([0x1f, 0x8b, 8, 31, 0, 0, 0, 0, 0, 3, 4, 0, 1, 2, 3, 4]);
    const bytes = Buffer.concat([header, Buffer.from('name\0comment\0'), Buffer.from([0, 0]), plain.subarray(10)]);
    for (const read_bytes of [1, 1000])
      assert.deepEqual(contents(await readArchive('a.gz', bytes, { read_bytes })), { name: 'content' });
  });

  test('a wrong checksum and a wrong length are reported after the content', async () => {
    for (const at of [-8, -4]) {
      const bytes = gzipSync('content');
      bytes[bytes.length + at]! ^= 1;
      const read = await readArchive('a.gz', bytes);
      assert.deepEqual(contents(read), { a: 'content' });
      assert.deepEqual(briefly(read.problems), ['malformed_archive partial a.gz']);
    }
  });

  test('a damaged second member', async () => {
    const read = await readArchive('a.gz', Buffer.concat([gzipSync('content'), gzipSync('more').subarray(0, 12)]));
    assert.match(contents(read)['a']!, /^content/);
    assert.deepEqual(briefly(read.problems), ['malformed_archive partial a.gz']);
  });
});
