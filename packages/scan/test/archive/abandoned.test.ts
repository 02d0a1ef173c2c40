import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync, zstdCompressSync } from 'node:zlib';

import { seededRandom } from '@heddle/base/random';
import { RootBudget, type ArchiveContext } from '../../src/archive/context.ts';
import { openArchive } from '../../src/archive/open-archive.ts';
import type { ArchiveFormat } from '../../src/archive/port.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import { eventually } from '@heddle/test-support/eventually';
import { buildTar } from '../support/archive/corpus/tar.ts';
import { buildZip } from '../support/archive/corpus/zip.ts';
import { MemoryReader, readers } from '../support/archive/reading.ts';

const MIB = 1024 * 1024;
const TIMES = 100;
/** A leaked decoder holds at least 40 KiB, and its pieces 256 KiB each. */
const GROWTH_BYTES_MAX = 2 * MIB;

/** Text that compresses to three quarters and exceeds one unpacked piece. */
const TEXT = Buffer.from(seededRandom(7).bytes(1.5 * MIB)).toString('base64');
const TAR = buildTar([{ name: 'text', content: TEXT }]);
const fixture = (name: string): Buffer => readFileSync(join(import.meta.dirname, 'fixtures', name));

const ARCHIVES: Readonly<Record<string, { format: ArchiveFormat; bytes: Buffer; access?: 'carry' }>> = {
  zip: { format: 'zip', bytes: buildZip([{ name: 'text', content: TEXT }]) },
  'zip front to back': {
    format: 'zip',
    bytes: buildZip([{ name: 'text', content: TEXT, descriptor: 'marked' }]),
    access: 'carry',
  },
  tar: { format: 'tar', bytes: TAR },
  gzip: { format: 'gzip', bytes: gzipSync(TEXT) },
  'tar.gz': { format: 'gzip', bytes: gzipSync(TAR) },
  zstd: { format: 'zstd', bytes: zstdCompressSync(TEXT) },
  bzip2: { format: 'bzip2', bytes: fixture('zeros.bz2') },
  xz: { format: 'xz', bytes: fixture('noise.xz') },
};

async function readABit({ format, bytes, access }: (typeof ARCHIVES)[string], entryToo: boolean): Promise<void> {
  const context: ArchiveContext = {
    path: 'a',
    depth: 0,
    options: SCAN_DEFAULTS.archives,
    root: new RootBudget(SCAN_DEFAULTS.archives),
    report: () => undefined,
  };
  const archive = await openArchive(format, new MemoryReader(bytes, access === undefined ? {} : { access }), context);
  if (entryToo) {
    const reader = (await archive.next())!.open();
    assert.ok((await reader.read(new Uint8Array(1000), 0, 1000, 0)) > 0);
    await reader.close();
  }
  await archive.close();
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

suite('an archive that is abandoned halfway holds nothing', () => {
  for (const [name, archive] of Object.entries(ARCHIVES)) {
    test(name, async () => {
      const open = readers.open;
      for (const entryToo of [true, false]) await readABit(archive, entryToo);
      const before = heldBytes();
      for (let i = 0; i < TIMES; i++) await readABit(archive, i % 4 > 0);
      assert.equal(readers.open, open);
      // Unpacking threads finish their piece first.
      await eventually(() => heldBytes() - before < GROWTH_BYTES_MAX, `what ${TIMES} archives held is given back`);
    });
  }
});
