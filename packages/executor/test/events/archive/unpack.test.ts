import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

import fc from 'fast-check';

import { unpackPackage } from '../../../src/events/archive/unpack.ts';
import { readCodeFiles, codeDigest } from '../../../src/events/code-digest.ts';
import { CodeFault } from '../../../src/events/code-fault.ts';
import { CODE_LIMITS, type CodeLimits } from '../../../src/events/code-limits.ts';
import { CodeWriter } from '../../../src/events/code-writer.ts';
import { directory, write } from '../../support/events/fixture.ts';
import { ARCHIVE_ATTACKS, ARCHIVE_BOMBS, BOMB_LIMITS } from '../../support/events/archive/attacks.ts';
import { packageArchive, pax, tarArchive } from '../../support/events/archive/tar-archive.ts';

async function writerIn(
  t: TestContext,
  limits: Partial<CodeLimits> = {},
): Promise<{ writer: CodeWriter; below: string }> {
  const below = await directory(t);
  await mkdir(join(below, 'in'));
  return { writer: new CodeWriter(join(below, 'in'), { ...CODE_LIMITS, ...limits }), below };
}

test('unpacks GNU tar archives with long names', async (t) => {
  const { writer, below } = await writerIn(t);
  const long = `${'long-folder-name/'.repeat(9)}file.js`;
  await write(join(below, 'src/package'), { 'index.js': 'x', [long]: 'y', 'empty.txt': '', 'ünï.js': 'z' });
  for (const format of ['gnu', 'posix', 'ustar']) {
    const { writer: into } = format === 'gnu' ? { writer } : await writerIn(t);
    const packed = execFileSync('tar', ['-C', join(below, 'src'), `--format=${format}`, '-czf', '-', 'package']);
    await unpackPackage(packed, into);
    const digest = codeDigest(await readCodeFiles(join(below, 'src/package')));
    assert.equal(into.digest(), digest, format);
    assert.equal(codeDigest(await readCodeFiles(into.directory)), digest, format);
  }
  assert.equal(await readFile(join(writer.directory, long), 'utf8'), 'y');
});

test('names and sizes from pax headers apply only to the next file', async (t) => {
  const { writer } = await writerIn(t);
  await unpackPackage(
    packageArchive([
      { name: 'x', type: 'x', content: pax({ path: 'package/ä.js', size: '3' }) },
      { name: 'package/short', content: 'abc', size: 0 },
      { name: 'package/plain.js', content: 'de' },
    ]),
    writer,
  );
  assert.deepEqual(
    writer.files.map(({ path, bytes }) => [path, bytes]),
    [
      ['ä.js', 3],
      ['plain.js', 2],
    ],
  );
});

for (const { name, archive, refused } of ARCHIVE_ATTACKS) {
  test(`rejects ${name}`, async (t) => {
    const { writer, below } = await writerIn(t);
    await assert.rejects(unpackAndDigest(archive(), writer), (error: unknown) => {
      assert.ok(error instanceof CodeFault, String(error));
      assert.match(error.message, refused);
      return true;
    });
    assert.deepEqual(await readdir(below), ['in'], 'nothing is written outside');
  });
}

for (const { name, archive, refused } of ARCHIVE_BOMBS) {
  test(`rejects ${name}`, async (t) => {
    const { writer } = await writerIn(t, BOMB_LIMITS);
    await assert.rejects(unpackAndDigest(archive(), writer), refused);
  });
}

test('a bomb is rejected long before it is unpacked', async (t) => {
  const { writer } = await writerIn(t);
  const layer = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  const bomb = Buffer.concat(Array.from({ length: 40 }, () => layer));
  const before = process.memoryUsage().rss;
  await assert.rejects(unpackAndDigest(bomb, writer));
  const grownMb = (process.memoryUsage().rss - before) / 1024 / 1024;
  assert.ok(grownMb < 200, `the process grew by ${grownMb} MB`);
});

test('an archive with random changes is either unpacked or rejected', async (t) => {
  const good = tarArchive([
    { name: 'package/index.js', content: 'export default 1;' },
    { name: 'x', type: 'x', content: pax({ path: 'package/long.js' }) },
    { name: 'package/long.js', content: 'y'.repeat(700) },
    { name: 'package/lib/', type: '5' },
  ]);
  const below = await directory(t);
  const outcomes = { unpacked: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      fc.nat(good.length),
      fc.boolean(),
      async (changes, length, repaired) => {
        const bytes = Buffer.from(good);
        for (const [at, byte] of changes) bytes[at] = byte;
        if (repaired) repairChecksums(bytes);
        const writer = new CodeWriter(await mkdtemp(join(below, 'in-')), CODE_LIMITS);
        try {
          await unpackPackage(gzipSync(repaired ? bytes : bytes.subarray(0, length), { level: 1 }), writer);
          assert.equal(codeDigest(await readCodeFiles(writer.directory)), codeDigest(writer.files));
          outcomes.unpacked += 1;
        } catch (error) {
          assert.ok(error instanceof CodeFault, String(error));
          outcomes.refused += 1;
        }
      },
    ),
    { numRuns: 600 },
  );
  assert.ok((await readdir(below)).every((name) => name.startsWith('in-')));
  assert.ok(outcomes.unpacked > 20 && outcomes.refused > 20, JSON.stringify(outcomes));
});

/** Fixes every checksum, so that changes get past the first check. */
function repairChecksums(bytes: Buffer): void {
  for (let at = 0; at + 512 <= bytes.length; at += 512) {
    if (bytes.toString('latin1', at + 257, at + 262) !== 'ustar') continue;
    bytes.write('        ', at + 148);
    const sum = bytes.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
    bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148);
  }
}

async function unpackAndDigest(packed: Buffer, writer: CodeWriter): Promise<string> {
  await unpackPackage(packed, writer);
  return writer.digest();
}
