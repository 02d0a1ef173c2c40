import assert from 'node:assert/strict';
import { readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '@heddle/base/clock';
import { SCAN_DEFAULTS } from '../src/options.ts';
import type { Finding, Problem } from '../src/result.ts';
import { startScan } from '../src/scan.ts';
import { optionsFor, places, scan, temporaryFolder, write } from './support/scan-fixture.ts';

/** A tree of `count` files; every seventh contains a key. */
function writeTree(folder: string, count: number): string[] {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const name = `d${String(Math.floor(i / 50)).padStart(3, '0')}/f${String(i).padStart(5, '0')}.txt`;
    const key = `MADEUP-${String(100_000 + i)}`;
    write(join(folder, name), `line one\n${i % 7 === 0 ? `key = ${key}\n` : ''}the end\n`);
    if (i % 7 === 0) keys.push(`${name}:${key}`);
  }
  return keys;
}

test('scans a tree completely, with findings in the order of its objects, for any number of threads', async (t) => {
  const folder = temporaryFolder(t);
  const keys = writeTree(folder, 500);
  for (const changes of [{ threads: 1 }, { threads: 3, frontierCapacity: 4 }, { threads: 2, chunkBytes: 3 }]) {
    const { summary, findings, problems } = await scan(optionsFor(folder, changes));
    assert.deepEqual(places(findings, folder), keys);
    assert.deepEqual(problems, []);
    assert.equal(summary.outcome, 'complete');
    assert.equal(summary.metrics.objects_discovered, 500);
    assert.equal(summary.metrics.objects_completed, 500);
    assert.equal(summary.findings, keys.length);
    assert.ok(summary.frontier_peak <= (changes.frontierCapacity ?? 256));
    assert.match(findings[0]!.fingerprint, /^[0-9a-f]{32}$/);
    assert.equal(findings[0]!.line, 2);
  }
});

test('finds secrets in archives under their own paths, and discards them after an exhausted budget under `skip`', async (t) => {
  const folder = temporaryFolder(t);
  const inner = gzipSync(Buffer.concat([Buffer.from('MADEUP-000001\n'), Buffer.alloc(100_000, 0x20)]));
  write(join(folder, 'a.txt.gz'), inner);
  write(join(folder, 'b.gz'), Buffer.concat([Buffer.from([0x1f, 0x8b, 8]), Buffer.from('MADEUP-000002 no archive')]));
  const whole = await scan(optionsFor(folder));
  assert.deepEqual(places(whole.findings, folder), ['a.txt.gz!a.txt:MADEUP-000001', 'b.gz:MADEUP-000002']);
  assert.deepEqual(
    whole.problems.map(({ code, extent }) => [code, extent]),
    [['malformed_archive', 'partial']],
  );
  assert.equal(whole.summary.outcome, 'incomplete');

  const archives = { ...SCAN_DEFAULTS.archives, entryBytesMax: 1000 };
  const codes = (problems: Problem[]): string[] => problems.map(({ code, extent }) => `${code} ${extent}`);
  const partial = await scan(optionsFor(folder, { archives }));
  assert.equal(places(partial.findings, folder)[0], 'a.txt.gz!a.txt:MADEUP-000001');
  assert.equal(codes(partial.problems)[0], 'entry_bytes_budget partial');
  const skip = await scan(optionsFor(folder, { archives: { ...archives, policy: 'skip' } }));
  assert.deepEqual(places(skip.findings, folder), ['b.gz:MADEUP-000002']);
  assert.ok(codes(skip.problems).includes('entry_bytes_budget skipped'), String(codes(skip.problems)));
  const fail = await scan(optionsFor(folder, { archives: { ...archives, policy: 'fail-run' } }));
  assert.equal(fail.summary.outcome, 'aborted');
  assert.match(fail.summary.reason!, /(a\.txt|b\.gz)/);
});

test('`fail-run` ends the scan for any incompletely read archive', async (t) => {
  const failing = { ...SCAN_DEFAULTS.archives, policy: 'fail-run' } as const;
  const fixture = (name: string): Buffer => readFileSync(join(import.meta.dirname, 'archive/fixtures', name));
  const archives = {
    unsupported: fixture('delta.xz'),
    'unsupported entry': fixture('ppmd.zip'),
    encrypted: fixture('encrypted.zip'),
    damaged: gzipSync('MADEUP-000001').subarray(0, 20),
    'damaged within': gzipSync(fixture('tree.zip').subarray(0, 200)),
  };
  for (const [kind, bytes] of Object.entries(archives)) {
    const folder = temporaryFolder(t);
    write(join(folder, 'it'), bytes);
    const { summary } = await scan(optionsFor(folder, { archives: failing }));
    assert.deepEqual([summary.outcome, summary.reason?.includes(join(folder, 'it'))], ['aborted', true], kind);
  }
  const sound = temporaryFolder(t);
  write(join(sound, 'tree.zip'), fixture('tree.zip'));
  assert.equal((await scan(optionsFor(sound, { archives: failing }))).summary.outcome, 'complete');
});

test('globs exclude and select paths, and a limit excludes large objects', async (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['src/a.env', 'src/b.txt', 'node_modules/x/c.env', 'large.env'])
    write(join(folder, name), `MADEUP-111111 ${'x'.repeat(name === 'large.env' ? 5000 : 0)}`);
  const changes = { include: ['*.env'], exclude: ['node_modules'], objectBytesMax: 1000 };
  const { findings, problems } = await scan(optionsFor(folder, changes));
  assert.deepEqual(places(findings, folder), ['src/a.env:MADEUP-111111']);
  assert.deepEqual(
    problems.map(({ code, extent }) => [code, extent]),
    [['too_large', 'skipped']],
  );
});

test('a large file does not delay the rest of its batch, and its findings arrive in parts', async (t) => {
  const folder = temporaryFolder(t);
  const many = Array.from({ length: 3000 }, (_, i) => `MADEUP-${String(200_000 + i)}\n`).join('');
  write(join(folder, 'a-large.bin'), many);
  truncateSync(join(folder, 'a-large.bin'), 40 * 1024 * 1024);
  const keys = writeTree(join(folder, 'rest'), 200);
  const { summary, findings } = await scan(optionsFor(folder, { chunkBytes: 64 * 1024 }));
  assert.equal(summary.outcome, 'complete');
  assert.equal(findings.length, 3000 + keys.length);
  assert.deepEqual(
    findings.slice(0, 3000).map(({ secret }) => secret),
    many.trim().split('\n'),
  );
  assert.deepEqual(places(findings.slice(3000), join(folder, 'rest')), keys);
});

test('a slow observer delays the scan and still receives everything in order', async (t) => {
  const folder = temporaryFolder(t);
  const keys = writeTree(folder, 300);
  const seen: Finding[] = [];
  let isBusy = false;
  const onFinding = async (finding: Finding): Promise<void> => {
    assert.ok(!isBusy, 'two findings at once');
    isBusy = true;
    await new Promise(setImmediate);
    isBusy = false;
    seen.push(finding);
  };
  const observer = { onFinding, onProblem: () => undefined };
  const summary = await startScan(optionsFor(folder), observer, { clock: systemClock });
  assert.deepEqual(places(seen, folder), keys);
  assert.equal(summary.findings, keys.length);
});

test('a signal ends the scan, as does a failing observer', async (t) => {
  const folder = temporaryFolder(t);
  writeTree(folder, 400);
  const stopping = new AbortController();
  const observer = { onFinding: () => stopping.abort(), onProblem: () => undefined };
  const options = optionsFor(folder, { frontierCapacity: 8 });
  const summary = await startScan(options, observer, { clock: systemClock, signal: stopping.signal });
  assert.equal(summary.outcome, 'aborted');
  assert.ok(summary.metrics.objects_completed < 400);
  const closed = { onFinding: () => Promise.reject(new Error('the pipe is closed')), onProblem: () => undefined };
  await assert.rejects(startScan(options, closed, { clock: systemClock }), /the pipe is closed/);
});

test('an impossible scan is rejected with the reason', async (t) => {
  const folder = temporaryFolder(t);
  const refused = (changes: Parameters<typeof optionsFor>[1], reason: RegExp): Promise<void> =>
    assert.rejects(scan(optionsFor(folder, changes)), reason);
  await refused({ sources: [{ type: 'path', path: join(folder, 'nothing') }] }, /nothing does not exist/);
  await refused({ frontierCapacity: 3 }, /frontierCapacity: must be between 4/);
  await refused({ chunkBytes: 0 }, /chunkBytes/);
  await refused({ rules: [{ name: 'x.toml', toml: '[[rules]]\nid = 3' }] }, /x\.toml/);
});

test('the bytes of an object count as progress before it is complete', async (t) => {
  const folder = temporaryFolder(t);
  const lines = 5000;
  write(join(folder, 'large'), Array.from({ length: lines }, (_, n) => `MADEUP-${100_000 + n}\n`).join(''));
  // More findings than are taken over at once: the object waits for the observer.
  const seen = Promise.withResolvers<number>();
  let last = 0;
  const summary = await startScan(
    optionsFor(folder, { threads: 1, chunkBytes: 16 * 1024 }),
    {
      onFinding: () => seen.promise.then(() => undefined),
      onProblem: () => undefined,
      onProgress: ({ objects_completed, bytes_scanned }) => {
        if (objects_completed === 0 && bytes_scanned > 0) seen.resolve(bytes_scanned);
        last = bytes_scanned;
      },
    },
    { clock: systemClock },
  );
  assert.ok((await seen.promise) < summary.metrics.bytes_scanned);
  assert.equal(last, summary.metrics.bytes_scanned);
  assert.equal(summary.metrics.bytes_scanned, lines * 'MADEUP-100000\n'.length);
});
