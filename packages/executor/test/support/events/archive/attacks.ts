import { gzipSync } from 'node:zlib';

import { packageArchive, pax, tarArchive, type TarEntry } from './tar-archive.ts';

export interface ArchiveAttack {
  name: string;
  archive: () => Buffer;
  refused: RegExp;
}

const FILE: TarEntry = { name: 'package/index.js', content: 'export default 1;\n' };

function entries(name: string, more: readonly TarEntry[], refused: RegExp): ArchiveAttack {
  return { name, archive: () => packageArchive([FILE, ...more]), refused };
}

function path(name: string | Buffer, refused: RegExp): ArchiveAttack {
  return entries(`a file named ${JSON.stringify(name.toString())}`, [{ name, content: 'x' }], refused);
}

/** Invalid archives with their expected faults. */
export const ARCHIVE_ATTACKS: readonly ArchiveAttack[] = [
  path('../escaped.js', /has the segment "\.\."/),
  path('package/../../escaped.js', /has the segment "\.\."/),
  path('package/lib/../../../escaped.js', /has the segment "\.\."/),
  path('package/./x.js', /has the segment "\."/),
  path('package//x.js', /has the segment ""/),
  path('/etc/cron.d/escaped', /is absolute/),
  path('package/C:\\escaped.js', /backslash or a colon/),
  path('package/..\\..\\escaped.js', /backslash or a colon/),
  path('package/x.js:stream', /backslash or a colon/),
  path('package/x.js.', /ends with a dot or a space/),
  path('package/\u202egnp.js', /invisible or invalid characters/),
  path('package/zero\u200bwidth.js', /invisible or invalid characters/),
  path('package/line\nbreak.js', /invisible or invalid characters/),
  path('package/e\u0301.js', /normalization form C/),
  path(Buffer.from([0x70, 0x2f, 0xff, 0xfe, 0x2e, 0x6a, 0x73]), /not UTF-8/),
  path(Buffer.from([0x70, 0x2f, 0xc0, 0xaf, 0x78]), /not UTF-8/),
  path(`p/${'d/'.repeat(41)}x`, /nested deeper than 40/),
  entries('a hard link', [{ name: 'package/h', type: '1', link: '/etc/passwd' }], /is a hard link/),
  entries('a symbolic link', [{ name: 'package/s', type: '2', link: '../../..' }], /is a symbolic link/),
  entries(
    'a link, and a file written through it',
    [
      { name: 'package/dir', type: '2', link: '/tmp' },
      { name: 'package/dir/x', content: 'x' },
    ],
    /is a symbolic link/,
  ),
  entries('a character device', [{ name: 'package/null', type: '3' }], /character device/),
  entries('a block device', [{ name: 'package/sda', type: '4' }], /block device/),
  entries('a named pipe', [{ name: 'package/pipe', type: '6' }], /named pipe/),
  entries('a sparse file', [{ name: 'package/sparse', type: 'S' }], /sparse/),
  entries('a part of another archive', [{ name: 'package/part', type: 'M' }], /part of another archive/),
  entries('an unknown type', [{ name: 'package/q', type: 'Q' }], /unknown type "Q"/),
  entries('the same file twice', [FILE], /"index\.js" appears twice/),
  entries('two files that differ in case', [{ name: 'package/INDEX.js' }], /the same name on some systems/),
  entries(
    'two files with equivalent Unicode names',
    [{ name: 'package/ﬁ' }, { name: 'package/fi' }],
    /the same name on/,
  ),
  entries('a file below a file', [{ name: 'package/index.js/x.js' }], /appears twice/),
  entries('a file in place of a directory', [{ name: 'package/lib/x.js' }, { name: 'package/lib' }], /appears twice/),
  entries('the same file under two first folders', [{ name: 'other/index.js' }], /appears twice/),
  entries('a directory outside', [{ name: 'package/../../', type: '5' }], /has the segment "\.\."/),
  entries('a directory with content', [{ name: 'package/d/', type: '5', content: 'x' }], /directory .* has content/),
  entries(
    'a long name (pax) outside the directory',
    [
      { name: 'p', type: 'x', content: pax({ path: 'package/../../x' }) },
      { name: 'package/ok.js', content: 'x' },
    ],
    /has the segment "\.\."/,
  ),
  entries(
    'a long name (GNU) outside the directory',
    [
      { name: '././@LongLink', type: 'L', content: 'package/../../x\0' },
      { name: 'package/ok.js', content: 'x' },
    ],
    /has the segment "\.\."/,
  ),
  entries(
    'a global header with a path',
    [{ name: 'g', type: 'g', content: pax({ path: 'package/all' }) }],
    /global header with a path or size/,
  ),
  entries('an invalid pax header', [{ name: 'p', type: 'x', content: '99999 path=x\n' }], /invalid extended header/),
  entries('an unterminated pax header', [{ name: 'p', type: 'x', content: '12 path=x' }], /invalid extended header/),
  entries(
    'a pax header with an invalid size',
    [
      { name: 'p', type: 'x', content: pax({ size: '-1' }) },
      { name: 'package/ok.js', content: 'x' },
    ],
    /an invalid size/,
  ),
  entries(
    'a sparse file by pax',
    [
      { name: 'p', type: 'x', content: pax({ 'GNU.sparse.major': '1' }) },
      { name: 'package/ok.js', content: 'x' },
    ],
    /sparse/,
  ),
  entries('a prefix that leads outside', [{ name: 'x.js', prefix: 'package/../..' }], /has the segment "\.\."/),
  entries('a header with a wrong checksum', [{ name: 'package/x.js', breakChecksum: true }], /not a valid tar archive/),
  {
    name: 'a file shorter than its header says',
    archive: () => packageArchive([{ ...FILE, size: 100_000 }]),
    refused: /truncated/,
  },
  { name: 'an archive without an end', archive: () => packageArchive([FILE], false), refused: /truncated/ },
  {
    name: 'an archive truncated in the middle',
    archive: () => packageArchive([FILE]).subarray(0, 60),
    refused: /not valid gzip/,
  },
  { name: 'not gzip', archive: () => tarArchive([FILE]), refused: /not valid gzip/ },
  {
    name: 'gzip of something else',
    archive: () => gzipSync(Buffer.alloc(1_024, 'x')),
    refused: /not a valid tar archive/,
  },
  { name: 'nothing', archive: () => Buffer.alloc(0), refused: /truncated|not valid gzip/ },
  { name: 'no file', archive: () => packageArchive([]), refused: /contains no files/ },
];

/** Decompression bombs, against `BOMB_LIMITS`. */
export const ARCHIVE_BOMBS: readonly ArchiveAttack[] = [
  {
    name: 'ratio: 100 MB of zeros in 100 kB',
    archive: () => gzipSync(tarArchive([{ name: 'package/zeros', content: Buffer.alloc(6 * 1024 * 1024) }])),
    refused: /more than 100 times its size/,
  },
  {
    name: 'count: too many files',
    archive: () => packageArchive(Array.from({ length: 51 }, (_, index) => ({ name: `package/${index}` }))),
    refused: /more than 50 files/,
  },
  {
    name: 'count: too many directories',
    archive: () =>
      packageArchive(Array.from({ length: 101 }, (_, index) => ({ name: `package/${index}/`, type: '5' }))),
    refused: /more than 100 entries beside files/,
  },
  {
    name: 'count: too many headers',
    archive: () =>
      packageArchive(Array.from({ length: 101 }, () => ({ name: 'x', type: 'x', content: pax({ mtime: '1' }) }))),
    refused: /more than 100 entries beside files/,
  },
  {
    name: 'size: one file too large by its header',
    archive: () => packageArchive([{ name: 'package/large', size: 7 * 1024 * 1024 }]),
    refused: /is larger than 6291456 bytes/,
  },
  {
    name: 'size: one file of terabytes, by pax',
    archive: () =>
      packageArchive([{ name: 'p', type: 'x', content: pax({ size: '999999999999999' }) }, { name: 'package/large' }]),
    refused: /is larger than 6291456 bytes/,
  },
  {
    name: 'size: files too large in total',
    archive: () =>
      packageArchive(
        Array.from({ length: 9 }, (_, index) => ({
          name: `package/${index}`,
          content: Buffer.alloc(1024 * 1024, 'x'),
        })),
      ),
    refused: /larger than 8388608 bytes in total|times its size/,
  },
];

export const BOMB_LIMITS = { files_max: 50, file_bytes_max: 6 * 1024 * 1024, bytes_max: 8 * 1024 * 1024 };
