/**
 * Archives behind programs and scripts, and LZMA files: recognized whatever their parameters, without false positives.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32, gzipSync } from 'node:zlib';

import { detectArchive } from '../../src/archive/detect.ts';
import { STUB_BYTES_MAX, stubSearchOf } from '../../src/archive/embedded.ts';
import { buildTar } from '../support/archive/corpus/tar.ts';
import { optionsFor, scan, temporaryFolder, write } from '../support/scan-fixture.ts';

const MIB = 1024 * 1024;
const SEVEN_ZIP = readFileSync(join(import.meta.dirname, 'fixtures/tree.7z'));

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

function program(bytes: number): Buffer {
  return Buffer.concat([Buffer.from('MZ'), Buffer.alloc(bytes - 2, 0x90)]);
}

/** The first blocks of RAR files, by their description. */
function rar4(): Buffer {
  const header = Buffer.concat([Buffer.from([0x73, 0, 0, 13, 0]), Buffer.alloc(6)]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc32(header) & 0xffff);
  return Buffer.concat([Buffer.from('Rar!\x1a\x07\0', 'latin1'), checksum, header, Buffer.alloc(20)]);
}

function rar5(): Buffer {
  const header = Buffer.from([5, 1, 0, 0, 0, 0]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(header));
  return Buffer.concat([Buffer.from('Rar!\x1a\x07\x01\0', 'latin1'), checksum, header, Buffer.alloc(20)]);
}

function lha(): Buffer {
  const header = Buffer.concat([Buffer.from('-lh5-'), Buffer.alloc(13), Buffer.from([0, 1]), Buffer.from('aaa')]);
  const sum = header.reduce((all, byte) => all + byte, 0) & 0xff;
  return Buffer.concat([Buffer.from([header.length, sum]), header, Buffer.alloc(20)]);
}

function cabinet(): Buffer {
  const header = Buffer.alloc(40);
  header.write('MSCF');
  header.writeUInt32LE(1000, 8);
  header.set([3, 1], 24);
  return header;
}

/** Returns the name and the place of the archive behind a program. */
function found(bytes: Buffer): string | null {
  const embedded = stubSearchOf(bytes)?.(bytes) ?? null;
  return embedded === null ? null : `${embedded.name} at ${embedded.offset}`;
}

test('embedded archives are recognized by their header, not by their signature alone', () => {
  const script = Buffer.from('#!/bin/sh\ntail -n +3 "$0" | tar xz\nexit\n');
  const named: readonly (readonly [string, Buffer])[] = [
    ['7z', SEVEN_ZIP],
    ['RAR', rar4()],
    ['RAR', rar5()],
    ['LHA', lha()],
    ['cabinet', cabinet()],
  ];
  for (const [name, archive] of named) {
    for (const stub of [program(5000), Buffer.concat([hex('7f454c46'), Buffer.alloc(5000)]), script]) {
      assert.equal(found(Buffer.concat([stub, archive])), `${name} at ${stub.length}`);
    }
    const broken = Buffer.from(archive.subarray(0, 12));
    assert.equal(found(Buffer.concat([program(5000), broken, Buffer.alloc(100, 0x41)])), null, name);
  }
  assert.equal(found(Buffer.concat([script, gzipSync('x')])), `gzip at ${script.length}`);
  // Programs that read archives contain the signatures.
  const constants = Buffer.from('PK\x03\x04PK\x01\x02 7z\xbc\xaf\x27\x1c\0Rar!\x1a\x07\0-lh5-\0MSCF\0\0\0\0', 'latin1');
  assert.equal(found(Buffer.concat([program(100), constants, Buffer.alloc(64, 0x41)])), null);
});

/** A rule for text that is compressed in the archives of the fixtures. */
const RULES = [
  {
    name: 'packed.toml',
    toml: `[[rules]]\nid = "packed"\nregex = '''line 299 of a list'''\nkeywords = ["line 299"]\n`,
  },
];

const fixture = (name: string): Buffer => readFileSync(join(import.meta.dirname, 'fixtures', name));
const SCRIPT = Buffer.from('#!/bin/sh\ntail -n +4 "$0" | tar xz\nexit\n');

test('what follows a program or a script is scanned as an archive, wherever the program ends', async (t) => {
  const folder = temporaryFolder(t);
  const options = optionsFor(folder, { rules: RULES });
  const chunk = options.chunkBytes;
  const files: Record<string, Buffer> = {
    'a.exe': Buffer.concat([program(5000), fixture('deflated.zip')]),
    'adjusted.run': fixture('stub-adjusted.jar'),
    'at-end': Buffer.concat([program(chunk - 7), SEVEN_ZIP]),
    'before-end': Buffer.concat([program(2 * chunk - 31), SEVEN_ZIP]),
    'install.sh': Buffer.concat([SCRIPT, fixture('tree.tar.gz')]),
    large: Buffer.concat([program(3 * MIB), SEVEN_ZIP]),
  };
  for (const [name, bytes] of Object.entries(files)) write(join(folder, name), bytes);
  write(join(folder, 'beyond'), Buffer.concat([program(STUB_BYTES_MAX + chunk), SEVEN_ZIP]));
  write(join(folder, 'plain'), program(2 * chunk));
  const { findings, problems, summary } = await scan(options);
  assert.deepEqual(
    findings.map(({ path, line }) => [path.slice(folder.length + 1), line]),
    Object.keys(files).map((name) => [`${name}!tree/sub/list.txt`, 300]),
  );
  assert.deepEqual(
    problems.filter(({ extent }) => extent !== 'notice'),
    [],
  );
  assert.equal(summary.outcome, 'complete');
});

test('what cannot be opened behind a program is reported, and its bytes are scanned', async (t) => {
  const folder = temporaryFolder(t);
  const key = Buffer.from(' MADEUP-123456 ');
  const damaged = Buffer.from(SEVEN_ZIP);
  damaged.fill(0x55, 40);
  write(join(folder, 'cabinet.exe'), Buffer.concat([program(5000), cabinet(), key]));
  write(join(folder, 'damaged.exe'), Buffer.concat([program(5000), key, damaged]));
  write(
    join(folder, 'outer.tar'),
    buildTar([{ name: 'inner.exe', content: Buffer.concat([program(5000), SEVEN_ZIP]) }]),
  );
  write(join(folder, 'truncated.exe'), Buffer.concat([program(5000), key, SEVEN_ZIP.subarray(0, -20)]));
  const { findings, problems, summary } = await scan(optionsFor(folder));
  assert.deepEqual(
    findings.map(({ path }) => path.slice(folder.length + 1)),
    ['cabinet.exe', 'damaged.exe', 'truncated.exe'],
  );
  assert.deepEqual(
    problems.map(({ path, code, message, extent }) => [path.slice(folder.length + 1), code, extent, message]),
    [
      [
        'cabinet.exe',
        'unsupported_archive',
        'partial',
        'self-extracting archives of the format cabinet are not opened; the raw bytes were scanned',
      ],
      [
        'damaged.exe',
        'malformed_archive',
        'partial',
        'the 7z archive behind the program or script cannot be opened: the header of the archive is damaged; the raw bytes were scanned',
      ],
      [
        'outer.tar!inner.exe',
        'unsupported_archive',
        'partial',
        'self-extracting archives within other archives are not opened (7z); the raw bytes were scanned',
      ],
      [
        'truncated.exe',
        'malformed_archive',
        'partial',
        'the 7z archive behind the program or script cannot be opened: the archive ends before its directory: it is truncated, or the first volume of a split archive; the raw bytes were scanned',
      ],
    ],
  );
  assert.equal(summary.outcome, 'incomplete');
  const strict = optionsFor(folder);
  const failed = await scan({ ...strict, archives: { ...strict.archives, policy: 'fail-run' } });
  assert.equal(failed.summary.outcome, 'aborted');
});

test('an archive behind a program has the limits of any other; what the program itself holds is kept', async (t) => {
  const folder = temporaryFolder(t);
  write(join(folder, 'a.exe'), Buffer.concat([program(5000), Buffer.from(' line 299 of a list '), SEVEN_ZIP]));
  const options = optionsFor(folder, { rules: RULES });
  const { findings, problems } = await scan({
    ...options,
    archives: { ...options.archives, policy: 'skip', entriesMax: 2 },
  });
  assert.deepEqual(
    findings.map(({ path }) => path.slice(folder.length + 1)),
    ['a.exe'],
  );
  assert.deepEqual(
    problems.map(({ code }) => code),
    ['entry_count_budget'],
  );
});

test('LZMA files are unpacked', async (t) => {
  const folder = temporaryFolder(t);
  write(join(folder, 'list.lzma'), fixture('list.lzma'));
  write(join(folder, 'cut.lzma'), fixture('list.lzma').subarray(0, 100));
  const { findings, problems } = await scan(optionsFor(folder, { rules: RULES }));
  assert.deepEqual(
    findings.map(({ path }) => path.slice(folder.length + 1)),
    ['list.lzma!list'],
  );
  assert.deepEqual(
    problems.map(({ code, path, extent }) => [code, path.slice(folder.length + 1), extent]),
    [['malformed_archive', 'cut.lzma', 'partial']],
  );
});

/** Created by Python's `lzma`: literal context bits, literal position bits, position bits, dictionary. */
const LZMA = {
  'lc0 lp2 pb1 64K':
    '3f00000100ffffffffffffffff0035994b9b22a6f3e982d9d81fb31148cab24234dddb0d0c178e9ff8d2b0c5102eb8a5d78167dffdb3a100',
  'lc4 lp0 pb0 3M':
    '0400003000ffffffffffffffff00359a170e00e9aec86a412cf6867d4b06396cc1f999310ac18aa2e0c720d933bbe4b21975e7feaa3ac0',
  'lc0 lp0 pb0 4K, long':
    '0000100000ffffffffffffffff00359a747fc74405fa19660fc6d7d2714eead11445b668f564ed0566ed9996d5d455b82f9c8366448582377be548bbc5fa02e653570da50087e10cb16db1737b808ac85b466fccf041967104378e625178e6efffffda584000',
  'lc1 lp1 pb1 1M, zeros':
    '3700001000ffffffffffffffff00006ffdffffa3b7ff441f9af8f38b465fcd862b4ecdd2d4f12029fcccd5ffffef298000',
};

test('an LZMA file is recognized by its content, whatever its parameters and name', () => {
  for (const [parameters, text] of Object.entries(LZMA)) {
    const bytes = hex(text);
    assert.equal(detectArchive('data.bin', bytes), 'lzma', parameters);
    if (parameters.endsWith('zeros')) continue;
    const stated = Buffer.from(bytes);
    stated.writeBigUInt64LE(parameters.endsWith('long') ? 18_400n : 46n, 5);
    assert.equal(detectArchive('data.bin', stated), 'lzma', `${parameters}, with its size`);
    const damaged = Buffer.concat([bytes.subarray(0, 14), Buffer.alloc(200, 0xa5)]);
    assert.equal(detectArchive('data.bin', damaged), null, `${parameters}, damaged`);
  }
  const table = Buffer.alloc(400);
  for (let at = 0; at < 400; at += 20) table.set([1, 0, 0, 16, 0, 16], at);
  for (const bytes of [table, Buffer.alloc(400), Buffer.from('\x3f\0\0\x01\0 text')])
    assert.equal(detectArchive('data.bin', bytes), null);
});

test('compressed data that is truncated behind a script, or of a file, is one problem', async (t) => {
  const folder = temporaryFolder(t);
  const noise = Buffer.from(Array.from({ length: 30_000 }, (_each, at) => (at * at * 7919) >> 5));
  const packed = gzipSync(buildTar([{ name: 'a.bin', content: noise }]));
  write(join(folder, 'install.sh'), Buffer.concat([SCRIPT, packed.subarray(0, -500)]));
  write(join(folder, 'cut.tgz'), packed.subarray(0, -500));
  const { problems } = await scan(optionsFor(folder));
  assert.deepEqual(
    problems.map(({ path, code, message }) => [path.slice(folder.length + 1), code, message]),
    ['cut.tgz', 'install.sh'].map((name) => [name, 'malformed_archive', 'the data ends too early']),
  );
});
