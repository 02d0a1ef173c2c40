import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { decodeName } from '../../src/archive/entry-name.ts';
import { buildTar, paxRecord } from '../support/archive/corpus/tar.ts';
import { buildZip } from '../support/archive/corpus/zip.ts';
import { briefly, contents, readArchive } from '../support/archive/reading.ts';

const UNSAFE = [
  '../../etc/passwd',
  '/etc/shadow',
  'a/../../b',
  'C:\\windows\\win.ini',
  '\\\\server\\share',
  'a\\..\\b',
  'line\nbreak',
  'zero\0byte',
  'escape\x1b[2J',
];
const SAFE = ['..hidden', 'a..b', 'dots.../x', 'a:b', 'with blank', 'ümläut', '日本語.txt', 'a!b'];

test('unsafe names are reported, and their entries are read', async () => {
  const entries = [...UNSAFE, ...SAFE].map((name, i) => ({ name, content: `content ${i}` }));
  const expected = UNSAFE.map((name) => `unsafe_name notice a.zip!${name}`);
  for (const access of ['range', 'carry'] as const) {
    const read = await readArchive('a.zip', buildZip(entries), { access });
    assert.deepEqual(briefly(read.problems), expected);
    assert.deepEqual(
      Object.values(contents(read)),
      entries.map(({ content }) => content),
    );
  }
  const plain = entries.filter(({ name }) => !name.includes('\0'));
  const tar = await readArchive('a.tar', buildTar(plain));
  assert.deepEqual(
    briefly(tar.problems),
    expected.filter((line) => !line.includes('\0')).map((line) => line.replace('a.zip', 'a.tar')),
  );
  assert.equal(tar.entries.length, plain.length);
});

test('names beyond the limit are truncated and reported; their entries are read', async () => {
  const name = 'é'.repeat(700);
  const zip = await readArchive('a.zip', buildZip([{ name, content: 'x' }]));
  const cut = 'é'.repeat(512);
  assert.deepEqual(briefly(zip.problems), [`name_budget notice a.zip!${cut}`]);
  assert.deepEqual(contents(zip), { [cut]: 'x' });
  const pax = buildTar([
    { name: 'pax', type: 'x', content: paxRecord('path', `a${name}`) },
    { name: 'short', content: 'x' },
  ]);
  const tar = await readArchive('a.tar', pax);
  assert.deepEqual(contents(tar), { [`a${'é'.repeat(511)}`]: 'x' }, 'no split characters');
  assert.deepEqual(
    tar.problems.map(({ code }) => code),
    ['name_budget'],
  );
});

test('a name of a megabyte costs no more than the bytes that are read', async () => {
  const tar = buildTar([
    { name: 'long', type: 'L', content: 'n'.repeat(1024 * 1024) },
    { name: 'short', content: 'x' },
  ]);
  const read = await readArchive('a.tar', tar);
  assert.deepEqual(Object.values(contents(read)), ['x']);
  assert.deepEqual(
    read.problems.map(({ code }) => code),
    ['malformed_archive', 'name_budget'],
  );
});

test('names that are not UTF-8 stay distinct', async () => {
  const names = [Buffer.from([0x61, 0xff]), Buffer.from([0x61, 0xfe])];
  const zip = await readArchive('a.zip', buildZip(names.map((name) => ({ name, content: 'x' }))));
  assert.deepEqual(
    zip.entries.map(({ name }) => name),
    ['a\u00a0', 'a■'],
  );
  const tar = await readArchive('a.tar', buildTar(names.map((name) => ({ name, content: 'x' }))));
  assert.deepEqual(
    tar.entries.map(({ name }) => name),
    ['aÿ', 'aþ'],
  );
});

test('a name may contain the replacement character', () => {
  assert.equal(decodeName(Buffer.from('a\ufffdb'), 'latin1'), 'a\ufffdb');
});

test('code page 437 has a character for each byte', () => {
  const upper = decodeName(Buffer.from(Array.from({ length: 128 }, (_, i) => i + 128)), 'cp437');
  assert.equal(new Set(upper).size, 128);
  assert.equal(upper.length, 128);
  assert.ok(upper.startsWith('ÇüéâäàåçêëèïîìÄÅ') && upper.includes('░▒▓') && upper.includes('αßΓπΣσµτΦΘΩδ∞φε∩'));
});

test('duplicate names are separate entries', async () => {
  const entries = [
    { name: 'twice', content: 'first' },
    { name: 'twice', content: 'second' },
  ];
  for (const [path, bytes] of [
    ['a.zip', buildZip(entries)],
    ['a.tar', buildTar(entries)],
  ] as const) {
    const read = await readArchive(path, bytes);
    assert.deepEqual(
      read.entries.map(({ content }) => content!.toString()),
      ['first', 'second'],
    );
    assert.deepEqual(read.problems, []);
  }
});

test('a compressed file is named by its header, else by its archive', async () => {
  const named = gzipSync('x');
  named[3] = 8;
  const withName = Buffer.concat([named.subarray(0, 10), Buffer.from('../up.txt\0'), named.subarray(10)]);
  const read = await readArchive('dir/a.gz', withName);
  assert.deepEqual(contents(read), { '../up.txt': 'x' });
  assert.deepEqual(briefly(read.problems), ['unsafe_name notice dir/a.gz!../up.txt']);
  for (const [path, name] of [
    ['dir/a.txt.gz', 'a.txt'],
    ['b/c/d.GZ', 'd'],
    ['.gz', 'data'],
    ['noending', 'noending'],
    ['x.tgz', 'x.tar'],
  ])
    assert.deepEqual(Object.keys(contents(await readArchive(path!, gzipSync('x')))), [name]);
});

test('the first reports of one kind are listed, and the rest counted', async () => {
  const entries = Array.from({ length: 100 }, (_, i) => ({ name: `../${i}`, content: 'x' }));
  const { problems } = await readArchive('a.zip', buildZip(entries));
  assert.equal(problems.length, 33);
  assert.match(problems.at(-1)?.message ?? '', /^68 more entries/);
});
