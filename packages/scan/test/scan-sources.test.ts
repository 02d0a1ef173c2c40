import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { startFauxqs } from 'fauxqs';

import { systemClock } from '@heddle/base/clock';
import type { ScanOptions } from '../src/options.ts';
import type { Finding, Problem } from '../src/result.ts';
import { startScan } from '../src/scan.ts';
import { optionsFor, scan, temporaryFolder, write } from './support/scan-fixture.ts';

process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';

const server = await startFauxqs({ port: 0, logger: false });
const client = new S3Client({ endpoint: server.address, region: 'us-east-1', forcePathStyle: true });
after(async () => {
  client.destroy();
  await server.stop();
});

const put = (Bucket: string, Key: string, Body: string): Promise<unknown> =>
  client.send(new PutObjectCommand({ Bucket, Key, Body, ContentLength: Buffer.byteLength(Body) }));

async function bucketOf(Bucket: string): Promise<ScanOptions> {
  await client.send(new CreateBucketCommand({ Bucket }));
  const source = { type: 's3' as const, bucket: Bucket, endpoint: server.address, force_path_style: true };
  return optionsFor('', { sources: [source], threads: 1, frontierCapacity: 32 });
}

/** Scans until a number of findings arrived, then stops; resolves with the results. */
async function scanUntil(options: ScanOptions, statePath: string, count: number): Promise<Finding[]> {
  const stopping = new AbortController();
  const findings: Finding[] = [];
  const onFinding = (finding: Finding): void => {
    if (findings.push(finding) === count) stopping.abort();
  };
  const environment = { clock: systemClock, statePath, signal: stopping.signal };
  const summary = await startScan(options, { onFinding, onProblem: () => undefined }, environment);
  assert.equal(summary.outcome, 'aborted');
  return findings;
}

const placesOf = (findings: readonly Finding[]): string[] => findings.map(({ path, secret }) => `${path} ${secret}`);

test('scans a bucket of several pages completely, and resumes from its state', async (t) => {
  const statePath = join(temporaryFolder(t), 'state');
  const options = await bucketOf('pages');
  const expected: string[] = [];
  for (let from = 0; from < 1050; from += 50) {
    const keys = Array.from({ length: 50 }, (_, i) => `k${String(from + i).padStart(4, '0')}`);
    await Promise.all(keys.map((key) => put('pages', key, from % 350 === 0 ? `MADEUP-00${key.slice(1)}` : '')));
    if (from % 350 === 0) expected.push(...keys.map((key) => `s3://pages/${key} MADEUP-00${key.slice(1)}`));
  }
  const first = await scanUntil(options, statePath, 60);
  assert.deepEqual(placesOf(first).slice(0, 60), expected.slice(0, 60));
  const { findings, problems, summary } = await scan(options, { statePath });
  assert.deepEqual(placesOf(findings), expected);
  assert.deepEqual([problems, summary.outcome], [[], 'complete']);
  assert.equal(summary.metrics.objects_completed, 1050);
});

test('a large object is scanned by all threads, with the findings of one', async () => {
  const options = await bucketOf('large');
  const lines = Array.from({ length: 4000 }, (_, i) => `${'a line without a key\n'.repeat(40)}MADEUP-${100_000 + i}\n`);
  await put('large', 'a', lines.join(''));
  const environment = { segmentBytes: 256 * 1024 };
  const one = await scan({ ...options, chunkBytes: 16 * 1024, threads: 1 }, environment);
  const all = await scan({ ...options, chunkBytes: 16 * 1024, threads: 2 }, environment);
  assert.equal(one.findings.length, 4000);
  assert.deepEqual(all.findings, one.findings);
  assert.equal(all.summary.metrics.bytes_scanned, one.summary.metrics.bytes_scanned);
});

test('an object replaced during reading is reported, with the findings so far', async () => {
  const options = await bucketOf('changing');
  // More findings at its beginning than may be in transit: reading waits for the consumer.
  const keys = Array.from({ length: 2500 }, (_, i) => `MADEUP-${String(100_000 + i)}\n`).join('');
  const content = (filler: string): string => keys + `${filler.repeat(63)}\n`.repeat(60_000);
  await put('changing', 'a', content('x'));
  await put('changing', 'b', 'MADEUP-000002');
  const findings: Finding[] = [];
  const problems: Problem[] = [];
  const onFinding = async (finding: Finding): Promise<void> => {
    if (findings.push(finding) === 1) await put('changing', 'a', content('y'));
  };
  const summary = await startScan(
    { ...options, chunkBytes: 16 * 1024 },
    { onFinding, onProblem: (problem) => void problems.push(problem) },
    { clock: systemClock },
  );
  assert.deepEqual(
    problems.map(({ code, path, extent }) => [code, path, extent]),
    [['changed_while_read', 's3://changing/a', 'partial']],
  );
  assert.equal(findings.length, 2501);
  assert.equal(findings.at(-1)?.path, 's3://changing/b');
  assert.equal(summary.outcome, 'incomplete');
});

test('a secret in a commit message is found there, and redacted in all findings of the commit', async (t) => {
  const repository = join(temporaryFolder(t), 'repository');
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', repository, ...identity, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  write(join(repository, 'a'), 'MADEUP-000001\n');
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  const long = `${'x'.repeat(190)} MADEUP-000004`;
  git('commit', '-q', '-m', 'use MADEUP-000002 and MADEUP-000003', '-m', 'and MADEUP-000009');
  write(join(repository, 'b'), 'MADEUP-000005\n');
  git('add', '-A');
  git('commit', '-q', '-m', long);
  git('tag', '-a', 'v1', '-m', 'MADEUP-000006');
  const options = optionsFor('', { sources: [{ type: 'git', repository }], threads: 2 });
  const { findings } = await scan(options);
  assert.deepEqual(
    findings.map(({ path, secret }) => `${path.replace(/:.*/, '')} ${secret.slice(-1)}`),
    ['tag 6', 'commit 2', 'commit 3', 'commit 9', 'a 1', 'commit 4', 'b 5'],
  );
  const subjects = findings.map(({ commit }) => commit?.subject);
  assert.doesNotMatch(subjects.join(), /MADEUP-?00000[234]|MADEUP-00/);
  assert.match(subjects[4]!, /^use MA\*\*\* and MA\*\*\*$/);
  // Messages that are not scanned may contain secrets.
  for (const changes of [{ include: ['a', 'b'] }, { exclude: ['commit:*'] }]) {
    const filtered = (await scan({ ...options, ...changes })).findings.filter(({ commit }) => commit !== undefined);
    assert.deepEqual(
      filtered.map(({ path, commit }) => `${path} ${commit!.subject}`),
      ['a ***', 'b ***'],
    );
  }
});

test('a history reports each secret once, with its first commit, and resumes from its state', async (t) => {
  const folder = temporaryFolder(t);
  const repository = join(folder, 'repository');
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', repository, ...identity, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  write(join(repository, 'README'), 'nothing\n');
  git('init', '-q', '-b', 'main');
  const commits: string[] = [];
  for (let i = 0; i < 6; i++) {
    for (let file = 0; file < 10; file++)
      write(join(repository, `c${i}-${file}`), `made in ${i}: MADEUP-${100 + i}${100 + file}\n`);
    // A copy is the same blob, and deleted content stays in the history.
    write(join(repository, `copy-${i}`), `made in 0: MADEUP-100100\n`);
    if (i > 0) git('rm', '-q', `c${i - 1}-0`);
    git('add', '-A');
    git('commit', '-q', '-m', `number ${i}`);
    commits.push(git('rev-parse', 'HEAD'));
  }
  const options = optionsFor('', { sources: [{ type: 'git', repository }], threads: 1, frontierCapacity: 8 });
  const whole = await scan(options);
  assert.equal(whole.findings.length, 60);
  assert.equal(new Set(whole.findings.map(({ secret }) => secret)).size, 60);
  for (const { secret, commit } of whole.findings) {
    const number = Number(secret.slice(7, 10)) - 100;
    assert.deepEqual([commit?.id, commit?.subject, commit?.author], [commits[number], `number ${number}`, 'Ada']);
  }
  const statePath = join(folder, 'state');
  const told = await scanUntil(options, statePath, 20);
  assert.deepEqual(placesOf(told), placesOf(whole.findings).slice(0, told.length));
  const rest = await scan(options, { statePath });
  assert.deepEqual(rest.findings, whole.findings);
  assert.equal(rest.summary.metrics.objects_completed, whole.summary.metrics.objects_completed);
});
