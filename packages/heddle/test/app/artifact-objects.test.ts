/** Artifacts in S3: workers without a database send them there themselves, and readers get them from there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { HeddleClient, type Artifact, type Task, type WorkDto } from '@heddle/client';
import { systemClock, type Clock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { TokenStore } from '@heddle/core/store/tokens';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';
import { artifactsOf } from '../../src/app/artifacts/open.ts';
import { loadConfiguration } from '../../src/app/config.ts';
import { startCheckingS3, type CheckingS3 } from '@heddle/test-support/app/checking-s3';
import { heddle } from '../support/cli/run-command.ts';

const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';
const HOUR_MS = 3_600_000;
const sha256 = (content: string): string => createHash('sha256').update(content).digest('hex');

describe('artifacts in S3', { concurrency: false }, () => {
  let directory: string;
  let s3: CheckingS3;
  let s3Client: S3Client;
  let server: Heddle;
  let client: HeddleClient;
  let worker: HeddleProcess;
  let flags: Record<string, string>;

  before(async () => {
    process.env['AWS_ACCESS_KEY_ID'] = 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] = 'test';
    directory = await mkdtemp(join(tmpdir(), 'heddle-objects-'));
    s3 = await startCheckingS3();
    s3Client = new S3Client({ endpoint: s3.url, region: 'us-east-1', forcePathStyle: true });
    await s3Client.send(new CreateBucketCommand({ Bucket: 'artifacts' }));
    flags = {
      HEDDLE_REQUIRE_TOKENS: '1',
      HEDDLE_ARTIFACTS_S3: `s3://artifacts/heddle?endpoint=${encodeURIComponent(s3.url)}`,
      HEDDLE_ARTIFACTS_DIR: join(directory, 'spool'),
      HEDDLE_ARTIFACT_MB: '1',
      HEDDLE_COMMANDS: 'off',
      HEDDLE_MODULES: join(import.meta.dirname, '../support/app/artifact-kinds.ts'),
    };
    server = await startHeddle({ flags, scopes: ['admin'] });
    client = new HeddleClient({ baseUrl: server.url, token: server.token! });
    const tokens = new TokenStore({ database: server.database, clock: systemClock, random: systemRandom });
    const { text: token } = await tokens.create('worker', ['work'], null, { kinds: ['Command'], classes: null });
    // It has no address of the bucket, and no credentials.
    worker = new HeddleProcess(['worker', '--url', server.url, '--json'], {
      HEDDLE_TOKEN: token,
      HEDDLE_DATA_DIR: join(directory, 'none'),
      HEDDLE_COMMANDS: TIER,
    });
    await worker.ready();
  });

  after(async () => {
    worker.child.kill('SIGKILL');
    await worker.exited;
    await server.stop();
    s3Client.destroy();
    await s3.close();
    await rm(directory, { recursive: true });
  });

  async function run(metadata: Record<string, unknown>): Promise<Task> {
    const { tasks } = await client.submit([{ name: 'command', kind: 'Command', metadata }]);
    return eventually(async () => {
      const now = await client.getTask(tasks[0]!.id);
      return now.ended_at === null ? undefined : now;
    }, 'the task has ended');
  }

  async function claim(): Promise<WorkDto> {
    const { tasks } = await client.submit([{ name: 'pulled', kind: 'pulled' }]);
    const [work] = await client.work.claim({ kinds: ['pulled'] });
    assert.equal(work!.id, tasks[0]!.id);
    return work!;
  }

  async function keysInBucket(): Promise<string[]> {
    const { Contents = [] } = await s3Client.send(new ListObjectsV2Command({ Bucket: 'artifacts' }));
    return Contents.map(({ Key = '' }) => Key);
  }

  const keyOf = (content: string): string => `heddle/${sha256(content).slice(0, 2)}/${sha256(content)}`;

  /** Requests that the server has answered, by method and route. */
  async function requests(route: string): Promise<number> {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.includes(`"${route}"`) && line.includes('requests_total'));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  test('of a worker without a database go to the bucket, not through the server', async () => {
    const made = await run({ run: 'seq 1 50000 > numbers.txt; echo two > b.txt', artifacts: ['*.txt'] });
    assert.equal(made.status, 'Success', `${made.failure_reason}\n${worker.stderr}`);
    const artifacts = await client.artifacts.list(made.id);
    assert.deepEqual(
      artifacts.map(({ name }) => name),
      ['b.txt', 'numbers.txt'],
    );
    assert.ok((await keysInBucket()).includes(keyOf('two\n')));
    assert.equal(await requests('/v1/work/:task_id/uploaded'), 2);
    assert.equal(await requests('/v1/work/:task_id/artifacts'), 0);

    const used = await run({ run: 'tail -n 1 given.txt', files: { 'given.txt': { artifact: artifacts[1]!.id } } });
    assert.equal(used.status, 'Success', `${used.failure_reason}\n${worker.stderr}`);
    const { lines } = await client.taskLogs(used.id);
    assert.equal(lines[0]!.text, '50000');
    assert.equal(await requests('/v1/artifacts/:artifact_id/content'), 0);
  });

  test('are downloaded by a URL of the bucket, or through the server', async () => {
    const made = await run({ run: 'printf "a report" > report.txt', artifacts: ['*.txt'] });
    const [artifact] = (await client.artifacts.list(made.id)) as [Artifact];
    const { url, direct, expires_at } = await client.artifacts.url(artifact.id, 60);
    assert.equal(direct, true);
    assert.equal(new URL(url).origin, s3.url);
    assert.ok(Date.parse(expires_at) > systemClock.now());
    assert.equal(await (await fetch(url)).text(), 'a report');
    const path = join(directory, 'downloaded');
    const got = await heddle([
      'artifact',
      'get',
      artifact.id,
      '--out',
      path,
      '--url',
      server.url,
      '--token',
      server.token!,
    ]);
    assert.equal(got.code, 0, got.stderr);
    assert.equal(await readFile(join(path, 'report.txt'), 'utf8'), 'a report');
  });

  test('of kinds in the server and of pull workers are stored too', async () => {
    const work = await claim();
    const stored = await client.work.putArtifact(work, 'through-the-server', new Blob(['pulled']).stream());
    assert.equal(await new Response(await client.artifacts.download(stored.id)).text(), 'pulled');
    assert.ok((await keysInBucket()).includes(keyOf('pulled')));
    await client.work.complete(work);
    assert.deepEqual(await readdir(join(directory, 'spool')), []);
  });

  test('an upload must be complete, wanted and within the limits', async () => {
    const work = await claim();
    const announced = { name: 'a.txt', size: 5, sha256: sha256('never') };
    await assert.rejects(client.work.uploaded(work, announced), { status: 409, message: /sha256: was not uploaded/ });
    await assert.rejects(client.work.upload(work, { ...announced, size: 1024 * 1024 + 1 }), { status: 413 });
    await assert.rejects(client.work.upload(work, { ...announced, name: '../up' }), { status: 400 });
    await assert.rejects(client.work.upload(work, { ...announced, sha256: 'ABC' }), { status: 400 });
    assert.deepEqual(await client.artifacts.list(work.id), []);
    const upload = (await client.work.upload(work, announced))!;
    const sent = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: 'never' });
    assert.equal(sent.status, 200);
    await client.work.complete(work);
    await assert.rejects(client.work.uploaded(work, announced), { code: 'STALE_ATTEMPT' });
  });

  test('what was uploaded and never reported is removed by the sweep, and nothing else', async () => {
    assert.ok((await keysInBucket()).includes(keyOf('never')), 'uploaded by the test before');
    const { values } = loadConfiguration({ flags, environment: {}, workingDirectory: directory });
    const sweep = (clock: Clock): Promise<void> =>
      artifactsOf(values, { database: server.database, clock, log: silentLogger }).retain(1_000);
    await sweep(systemClock);
    assert.ok((await keysInBucket()).includes(keyOf('never')), 'its task may be about to report it');
    await sweep({ ...systemClock, now: () => systemClock.now() + 2 * HOUR_MS });
    const keys = await keysInBucket();
    assert.ok(!keys.includes(keyOf('never')));
    assert.ok(keys.includes(keyOf('two\n')) && keys.includes(keyOf('pulled')));
  });
});
