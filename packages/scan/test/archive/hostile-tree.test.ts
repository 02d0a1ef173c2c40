import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import type { Problem, ProblemCode } from '../../src/result.ts';
import { optionsFor, places, scan, temporaryFolder, write } from '../support/scan-fixture.ts';
import * as bombs from '../support/archive/corpus/bombs.ts';
import { buildTar } from '../support/archive/corpus/tar.ts';
import { buildZip } from '../support/archive/corpus/zip.ts';

const MIB = 1024 * 1024;
const KEY = 'MADEUP-424242';
const UNIX = 3;

/** Each with the minimum report; a fixture by its name, else its bytes. */
const CORPUS: Readonly<Record<string, [codes: readonly ProblemCode[], bytes: (() => Uint8Array) | null]>> = {
  'zeros.gz': [['ratio_budget'], () => bombs.gzippedZeros(1024 * MIB)],
  'members.gz': [['ratio_budget'], () => bombs.gzipMembers(2000, 64 * 1024)],
  'lying.zip': [['ratio_budget'], () => bombs.lyingZip(256 * MIB)],
  'zeros.bz2': [['ratio_budget'], null],
  'zeros.xz': [['ratio_budget'], null],
  '42.zip': [['ratio_budget', 'depth_budget'], () => bombs.nestedZips(5, 16, 64 * MIB)],
  'shared.zip': [['overlapping_entries'], () => bombs.sharedZip(1000, 16 * MIB)],
  'quoting.zip': [['overlapping_entries'], () => bombs.quotingZip(250, 16 * MIB)],
  'levels.gz': [['depth_budget'], () => bombs.nestedGzips(10_000)],
  'many.zip': [['entry_count_budget'], () => buildZip(Array.from({ length: 5000 }, (_, i) => ({ name: String(i) })))],
  'many.tar': [['entry_count_budget'], () => buildTar(Array.from({ length: 5000 }, (_, i) => ({ name: String(i) })))],
  'cut.gz': [['malformed_archive'], () => gzipSync(`${KEY}\n`.repeat(5)).subarray(0, 22)],
  'cut.zip': [['malformed_archive'], () => buildZip([{ name: 'a', content: 'x'.repeat(5000) }]).subarray(0, 60)],
  'encrypted.zip': [['encrypted'], null],
  'aes.zip': [['encrypted'], null],
  'ppmd.7z': [['unsupported_archive'], null],
  'hidden.7z': [['encrypted'], null],
  'zeros.7z': [['ratio_budget'], null],
  'deflate64.zip': [['unsupported_archive'], null],
  'size.zip': [
    ['malformed_archive'],
    () => buildZip([{ name: 'm', content: KEY, directory: { size: 3 }, local: { size: 3 } }]),
  ],
  'names.zip': [
    ['unsafe_name'],
    () =>
      buildZip(['../../up', '/etc/absolute', 'C:\\windows', 'a\u001b[2Jb\nc'].map((name) => ({ name, content: KEY }))),
  ],
  'long.tar': [
    ['name_budget'],
    () =>
      buildTar([
        { name: 'L', type: 'L', content: `${'n'.repeat(3000)}\0` },
        { name: 'n', content: KEY },
      ]),
  ],
};

/** Intact, or scanned completely despite a fault: the expected number of findings of each. */
const SOUND: Readonly<Record<string, [findings: number, bytes: () => Uint8Array]>> = {
  'twice.zip': [2, () => buildZip([1, 2].map(() => ({ name: 'same', content: KEY })))],
  'links.zip': [
    0,
    () => buildZip([{ name: 'l', content: '/etc/passwd', directory: { made_by: UNIX, attributes: 0xa1ff0000 } }]),
  ],
  'links.tar': [0, () => buildTar([{ name: 'l', type: '2', link: '/etc/passwd' }])],
  'one.zip': [1, () => buildZip([{ name: 'a', content: KEY }])],
  'members-of-text.gz': [2, () => Buffer.concat([gzipSync(`${KEY} MADE`), gzipSync(`UP-424242 and on`)])],
};

test('a tree of hostile archives is scanned completely, and the report names each of them', async (t) => {
  const folder = temporaryFolder(t);
  for (const [name, [, bytes]] of Object.entries(CORPUS)) {
    if (bytes !== null) write(join(folder, name), bytes());
    else copyFileSync(join(import.meta.dirname, 'fixtures', name), join(folder, name));
    // Files between them are scanned nevertheless.
    write(join(folder, `${name}.txt`), KEY);
  }
  for (const [name, [, bytes]] of Object.entries(SOUND)) write(join(folder, name), bytes());
  const { summary, findings, problems } = await scan(optionsFor(folder));
  assert.equal(summary.outcome, 'incomplete');
  const of = ({ path }: { path: string }, name: string): boolean =>
    path === `${folder}/${name}` || path.startsWith(`${folder}/${name}!`);
  for (const [name, [codes]] of Object.entries(CORPUS)) {
    const named = new Set(problems.filter((problem: Problem) => of(problem, name)).map(({ code }) => code));
    for (const code of codes) assert.ok(named.has(code), `${name}: ${code} is not among ${[...named].join(', ')}`);
  }
  for (const [name, [count]] of Object.entries(SOUND)) {
    const gaps = problems.filter((problem) => of(problem, name) && problem.extent !== 'notice');
    assert.deepEqual([name, findings.filter((finding) => of(finding, name)).length, gaps], [name, count, []]);
  }
  const plain = places(findings, folder).filter((place) => place.endsWith(`.txt:${KEY}`) && !place.includes('!'));
  assert.equal(plain.length, Object.keys(CORPUS).length);
  assert.equal(findings.filter((finding) => of(finding, 'names.zip')).length, 4);
  // The maximum output of all bombs together before each is stopped.
  assert.ok(summary.metrics.bytes_scanned < 1024 * MIB, `${summary.metrics.bytes_scanned} bytes were scanned`);
});
