import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateTree } from '../../../bench/src/scan/generate-tree.ts';
import { optionsFor, scan, temporaryFolder } from './support/scan-fixture.ts';

const MIB = 1024 * 1024;

test('finds every secret planted in a tree once, across chunk boundaries and in archives', async (t) => {
  const folder = temporaryFolder(t);
  const { directory, manifest } = await generateTree({ directory: folder, bytes: 32 * MIB, secrets: 210 });
  const boundaries = manifest.planted.flatMap(({ boundary }) => boundary ?? []);
  for (const size of [64 * 1024, MIB, 4 * MIB])
    assert.ok(
      boundaries.some((at) => at % size === 0),
      `one across the end of a chunk of ${size} bytes`,
    );
  const planted = manifest.planted.map(({ rule_id, path, secret }) => `${path} ${rule_id} ${secret}`).sort();
  // The built-in rules, for which the secrets were created.
  const enable = [...new Set(manifest.planted.map(({ rule_id }) => rule_id))];
  const options = optionsFor(directory);
  for (const [chunkBytes, threads] of [
    [64 * 1024, 2],
    [MIB, 1],
    [4 * MIB, 2],
  ] as const) {
    const { findings, problems, summary } = await scan({ ...options, rules: [], enable, chunkBytes, threads });
    const found = findings.map(
      ({ rule_id, path, secret }) => `${path.slice(directory.length + 1)} ${rule_id} ${secret}`,
    );
    assert.deepEqual(found.sort(), planted, `chunks of ${chunkBytes} bytes`);
    assert.deepEqual([problems, summary.outcome], [[], 'complete']);
  }
});
