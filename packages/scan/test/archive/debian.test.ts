import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { detectArchive } from '../../src/archive/open-archive.ts';
import { readArchive } from '../support/archive/reading.ts';

const PACKAGE = readFileSync(join(import.meta.dirname, 'fixtures/package.deb'));

test('a Debian package is read, with its archives', async () => {
  assert.equal(detectArchive('a name', PACKAGE.subarray(0, 512)), 'deb');
  for (const access of ['range', 'carry'] as const) {
    const { entries, problems } = await readArchive('package.deb', PACKAGE, { access, nested: true });
    assert.deepEqual(problems, []);
    const files = entries.filter(({ content, kind }) => kind === 'file' && content !== null);
    assert.deepEqual(
      files.map(({ name }) => name),
      ['debian-binary', 'control.tar.xz!./control', 'data.tar.xz!./etc/greeting.conf'],
    );
    assert.equal(files.at(-1)!.content!.toString(), 'hello, archive\n');
  }
});

test('one that is truncated or damaged is read as far as possible, and reported', async () => {
  for (let length = 8; length < PACKAGE.length; length += 13) {
    for (const access of ['range', 'carry'] as const) {
      const { problems } = await readArchive('package.deb', PACKAGE.subarray(0, length), { access, format: 'deb' });
      const isWhole = length === 8 || length === 8 + 60 + 4;
      assert.deepEqual(
        [...new Set(problems.map(({ code }) => code))],
        isWhole ? [] : ['malformed_archive'],
        `${length}`,
      );
    }
  }
  const damaged = Buffer.from(PACKAGE);
  damaged.write('x', 8 + 58);
  const { problems, entries } = await readArchive('package.deb', damaged, { format: 'deb' });
  assert.deepEqual(entries, []);
  assert.deepEqual(
    problems.map(({ code, extent, message }) => [code, extent, message]),
    [['malformed_archive', 'skipped', 'the header at byte 8 is damaged']],
  );
});
