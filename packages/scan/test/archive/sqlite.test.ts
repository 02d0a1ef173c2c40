import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import { detectArchive } from '../../src/archive/open-archive.ts';
import { MEMORY_BYTES_MAX } from '../../src/archive/memory-copy.ts';
import { separated } from '../../src/archive/sqlite/remains.ts';
import { columnsOf } from '../../src/archive/sqlite/records.ts';
import { contents, readArchive } from '../support/archive/reading.ts';
import { optionsFor, scan, temporaryFolder, write } from '../support/scan-fixture.ts';

function fixture(name: string): Buffer {
  return readFileSync(join(import.meta.dirname, 'fixtures', name));
}

type Rows = Record<string, Record<string, unknown>>;

/** A table is JSON but for the comma after its last row. */
const rowsOf = (text: string): Rows => JSON.parse(text.replace(/,\n\}\n$/, '}')) as Rows;

suite('SQLite databases', () => {
  for (const name of ['utf-8', 'utf-16le', 'utf-16be']) {
    test(`${name}: tables are read by row and column, and what was deleted`, async () => {
      const bytes = fixture(`${name}.sqlite`);
      assert.equal(detectArchive('a', bytes.subarray(0, 512)), 'sqlite');
      for (const access of ['range', 'carry'] as const) {
        const read = await readArchive('a.db', bytes, { access });
        assert.deepEqual(read.problems, []);
        const files = contents(read);
        assert.deepEqual(Object.keys(files), ['schema.sql', 'users.json', 'settings.json', 'unused space']);
        assert.match(files['schema.sql']!, /CREATE VIEW everyone AS SELECT 'in a view'/);
        const users = rowsOf(files['users.json']!);
        assert.equal(Object.keys(users).length, 199);
        assert.deepEqual(users['12'], { 'full name': 'user 12', token: 'token-0012', data: '\0\ufffdhi' });
        assert.equal(users['7']!['token'], `long ${'x'.repeat(5000)} end`);
        const settings = Object.values(rowsOf(files['settings.json']!));
        assert.ok(settings.some(({ key, value }) => key === 'quoted' && value === 'a "b"'));
        assert.match(files['settings.json']!, /"key": "big", "value": -9007199254740993\}/);
        const unused = Buffer.from(files['unused space']!).toString('latin1').replaceAll('\0', '');
        assert.ok(unused.includes('text of a dropped table'));
        assert.match(unused, /user 150\n(?:t|.t)oken-0150/);
        // Pages may keep copies of rows that moved elsewhere, but not of all.
        assert.ok(!unused.includes('token-0190'));
      }
    });
  }

  test('a finding names the table, the row and the column', async (t) => {
    const folder = temporaryFolder(t);
    const bytes = fixture('utf-8.sqlite');
    const changed = Buffer.from(bytes.toString('latin1').replaceAll('token-0190', 'MADEUP-004'), 'latin1');
    const rules = [{ name: 'a', toml: "[[rules]]\nid = 'a'\ndescription = 'a'\nregex = '''MADEUP-004'''\n" }];
    write(join(folder, 'a.db'), changed);
    const { findings, problems } = await scan(optionsFor(folder, { rules }));
    assert.deepEqual(problems, []);
    assert.deepEqual(
      findings.map(({ path, key_path }) => [path.slice(folder.length + 1), key_path]),
      [['a.db!users.json', '….190.token']],
    );
  });

  test('values of deleted rows are on lines of their own, as far as rows can be recognized', () => {
    const intact = Buffer.from('\x0e\x05\x04\x00\x15\x19nameSECRET', 'latin1');
    const rowOf = (start: string): string => separated(Buffer.from(start, 'latin1')).toString('latin1');
    assert.match(separated(intact).toString('latin1'), /name\nSECRET\n$/);
    // A free block: the next one, its length, then what its header has left of the row.
    assert.match(rowOf('\0\0\0\x10\x15\x19nameSECRET'), /name\nSECRET\n$/);
    assert.match(rowOf('\0\0\0\x11\x03\x15\x19nameSECRET'), /name\nSECRET\n$/);
    // Two neighbors, of which the second was deleted first, or not overwritten.
    assert.match(rowOf('\0\0\0\x20\x15\x19nameSECRET\0\0\0\x10\x15\x19nextSECOND'), /name\nSECRET\n.*next\nSECOND\n$/s);
    assert.match(rowOf(`\0\0\0\x20\x15\x19nameSECRET${intact.toString('latin1')}`), /name\nSECRET\n.*name\nSECRET\n$/s);
    for (const other of ['', 'plain text without a row', '\x0e\x05\x04\x00\x15\x17nameSECRET', '\0\0\0\x10'])
      assert.equal(rowOf(other), other);
  });

  test('values of deleted rows that have lost the type of a value are separated by the columns of their table', async () => {
    const read = await readArchive('a.db', fixture('deleted.sqlite'), { access: 'range' });
    const unused = read.entries.at(-1)!.content!.toString('latin1');
    const numbers = (name: string): string[] =>
      [...unused.matchAll(new RegExp(`(?<!\\w)${name}-(\\d{4})(?!\\w)`, 'g'))].map(([, number]) => number!).toSorted();
    for (const name of ['first', 'second', 'third'])
      assert.deepEqual(numbers(name), ['0003', '0004', '0007'], JSON.stringify(unused));
    const all = Array.from({ length: 200 }, (_each, index) => String(index + 1).padStart(4, '0'));
    assert.deepEqual([...new Set(numbers('fourth'))], all);
  });

  test('separating values loses no byte, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const given = Buffer.from(bytes);
        const without = (each: Buffer): string => each.toString('latin1').replaceAll('\n', '');
        assert.equal(without(separated(given)), without(given));
        const shapes = [
          { columns: 3, firstSizes: null },
          { columns: 2, firstSizes: [4, 1] },
        ];
        assert.equal(without(separated(given, { encoding: 'utf8', shapes })), without(given));
      }),
      { numRuns: Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 300) },
    );
  });

  test('pages of a write-ahead log are read, with each value on a line of its own', async () => {
    const header = Buffer.alloc(32);
    header.writeUInt32BE(0x377f0682);
    header.writeUInt32BE(512, 8);
    const row = Buffer.from('\x0e\x05\x04\x00\x15\x19nameSECRET', 'latin1');
    const pageOf = (start: string): Buffer => Buffer.concat([Buffer.from(start.padEnd(512 - row.length, '\0')), row]);
    // The first page of a database does not make the log one.
    const log = Buffer.concat([header, Buffer.alloc(24), pageOf('SQLite format 3'), Buffer.alloc(24), pageOf('')]);
    assert.equal(detectArchive('a', log), 'sqlite-wal');
    for (const access of ['range', 'carry'] as const) {
      const { entries, problems } = await readArchive('a.db-wal', log, { access });
      const pages = entries[0]!.content!;
      assert.deepEqual([problems, entries.length, detectArchive('pages', pages.subarray(0, 512))], [[], 1, null]);
      assert.equal(pages.toString('latin1').split('name\nSECRET\n').length, 3);
    }
    const cut = await readArchive('a.db-wal', log.subarray(0, 700));
    assert.equal(contents(cut)['pages']!.split('name\nSECRET\n').length, 2);
    header.writeUInt32BE(513, 8);
    const damaged = await readArchive('a.db-wal', header);
    assert.deepEqual(
      damaged.problems.map(({ message }) => message),
      ['the header of the write-ahead log is damaged'],
    );
  });

  test('one within an archive that is too large for memory is scanned as it is', async () => {
    const large = Buffer.concat([fixture('utf-8.sqlite'), Buffer.alloc(MEMORY_BYTES_MAX)]);
    const read = await readArchive('a.db', large, { access: 'carry' });
    assert.deepEqual(read.problems, []);
    assert.ok(read.entries[0]!.content!.equals(large));
  });

  test('one that ends early or is changed anywhere is a problem at most', async () => {
    const bytes = fixture('utf-8.sqlite');
    for (let length = 100; length < bytes.length; length += 1009)
      await readArchive('a', bytes.subarray(0, length), { format: 'sqlite' });
    const change = fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        const changed = Buffer.from(bytes);
        for (const { at, byte } of changes) changed[at] = byte;
        const { problems } = await readArchive('a', changed, { format: 'sqlite' });
        assert.ok(
          problems.every(
            ({ code }) => code === 'malformed_archive' || code === 'unsafe_name' || code === 'name_budget',
          ),
        );
      }),
      { numRuns: Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 60) },
    );
  });

  test('pages that lead to each other and rows that share their bytes end', async () => {
    const bytes = Buffer.from(fixture('utf-8.sqlite'));
    // Every page becomes a node of a tree, whose children are all pages.
    const loops = Buffer.from(bytes);
    for (let page = 1; page * 1024 < loops.length; page++) {
      const at = page * 1024;
      loops[at] = 5;
      loops.writeUInt16BE(100, at + 3);
      loops.writeUInt32BE(2, at + 8);
      for (let cell = 0; cell < 100; cell++) loops.writeUInt16BE(300 + 4 * cell, at + 12 + 2 * cell);
      for (let cell = 0; cell < 100; cell++) loops.writeUInt32BE(1 + (cell % 30), at + 300 + 4 * cell);
    }
    const looped = await readArchive('a', loops, { format: 'sqlite' });
    assert.ok(looped.problems.length > 0 && looped.problems.length < 200);
    const shared = Buffer.from(bytes);
    for (let page = 1; page * 1024 < shared.length; page++) {
      if (shared[page * 1024] !== 13) continue;
      shared.writeUInt16BE(400, page * 1024 + 3);
      for (let cell = 0; cell < 400; cell++) shared.writeUInt16BE(900, page * 1024 + 8 + 2 * cell);
    }
    const { problems, unpacked_bytes } = await readArchive('a', shared, { format: 'sqlite' });
    assert.ok(problems.some(({ message }) => /overlap|damaged/.test(message)));
    assert.ok(unpacked_bytes < 4 * shared.length, `${unpacked_bytes}`);
  });

  test('columns are named as the statement names them', () => {
    const sql =
      'CREATE TABLE "a" (id INTEGER PRIMARY KEY, "b, c" TEXT DEFAULT (1, 2), [d e] x, `f`, PRIMARY KEY (id), g)';
    assert.deepEqual(columnsOf(sql), ['id', 'b, c', 'd e', 'f', 'g']);
    assert.deepEqual(['', 'x', 'CREATE TABLE a ('].map(columnsOf), [[], [], []]);
  });
});
