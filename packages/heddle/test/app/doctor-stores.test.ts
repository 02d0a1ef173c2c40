/** What `heddle doctor` says about artifacts, secrets and commands. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';

import { newSecretKey } from '@heddle/base/keyring';
import { HeddleClient } from '@heddle/client';
import { heddle } from '@heddle/test-support/app/heddle-process';
import { startHeddle } from '@heddle/test-support/cli/heddle';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { startCheckingS3, type CheckingS3 } from '@heddle/test-support/app/checking-s3';

type Environment = Readonly<Record<string, string>>;

const HAS_BUBBLEWRAP = spawnSync('bwrap', ['--version']).status === 0;

async function checksOf(name: string, environment: Environment): Promise<string[]> {
  const { stdout, stderr } = await heddle(['doctor', '--json'], { PORT: '0', ...environment });
  assert.notEqual(stdout, '', stderr);
  const { checks } = JSON.parse(stdout) as { checks: Record<'name' | 'status' | 'message' | 'remedy', string>[] };
  return checks
    .filter((check) => check.name === name)
    .map(({ status, message, remedy }) => `${status} ${message}; ${remedy}`);
}

describe('heddle doctor', { concurrency: false }, () => {
  let directory: string;
  let s3: CheckingS3;
  let s3Client: S3Client;
  const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-doctor-'));
    s3 = await startCheckingS3();
    const identity = { accessKeyId: 'test', secretAccessKey: 'test' };
    s3Client = new S3Client({ endpoint: s3.url, region: 'us-east-1', forcePathStyle: true, credentials: identity });
    await s3Client.send(new CreateBucketCommand({ Bucket: 'artifacts' }));
  });

  after(async () => {
    s3Client.destroy();
    await s3.close();
    await rm(directory, { recursive: true });
  });

  const atS3 = (bucket: string, endpoint: string): Environment => ({
    HEDDLE_DATA_DIR: join(directory, 'data'),
    HEDDLE_ARTIFACTS_S3: `s3://${bucket}/heddle?endpoint=${encodeURIComponent(endpoint)}`,
    ...credentials,
  });

  test('tries the bucket of artifacts, and leaves nothing in it', async () => {
    const [found] = await checksOf('artifacts', atS3('artifacts', s3.url));
    assert.equal(found, 'ok s3://artifacts/heddle: stored, read, listed and removed; checksums are verified; null');
    const [unchecked] = await checksOf('artifacts', atS3('artifacts', s3.uncheckedUrl));
    assert.match(unchecked!, /^warn s3:\/\/artifacts\/heddle works, but ignores checksums: workers upload through/);
    assert.equal((await s3Client.send(new ListObjectsV2Command({ Bucket: 'artifacts' }))).KeyCount, 0);
  });

  test('says what is wrong with the bucket', async () => {
    const [missing] = await checksOf('artifacts', atS3('nothing-here', s3.url));
    assert.match(
      missing!,
      /^fail could not store a content: .*there is no bucket nothing-here; .*check HEDDLE_ARTIFACTS_S3/,
    );
    const [away] = await checksOf('artifacts', atS3('artifacts', 'http://127.0.0.1:9'));
    assert.match(away!, /^fail could not store a content: .*ECONNREFUSED/);
    const { AWS_ACCESS_KEY_ID: _id, AWS_SECRET_ACCESS_KEY: _key, ...nobody } = atS3('artifacts', s3.url);
    const [denied] = await checksOf('artifacts', { ...nobody, AWS_EC2_METADATA_DISABLED: 'true', HOME: directory });
    assert.match(denied!, /^fail could not store a content: .*no credentials were found; set AWS_ACCESS_KEY_ID/);
  });

  test('tries the directory of artifacts', async () => {
    const artifacts = join(directory, 'artifacts');
    const environment = { HEDDLE_DATA_DIR: join(directory, 'data'), HEDDLE_ARTIFACTS_DIR: artifacts };
    assert.deepEqual(await checksOf('artifacts', environment), [
      `ok ${artifacts} (created with the first artifact); null`,
    ]);
    await mkdir(artifacts);
    const [found] = await checksOf('artifacts', environment);
    assert.match(found!, /^ok .*\/artifacts, \d+ MiB free; null$/);
    const left = await readdir(artifacts, { recursive: true, withFileTypes: true });
    assert.deepEqual(
      left.filter((entry) => entry.isFile()),
      [],
    );
    const [small] = await checksOf('artifacts', { ...environment, HEDDLE_ARTIFACT_MB: '1048576' });
    assert.match(small!, /^warn .* MiB free, less than one artifact may have .*; free some/);
    const file = join(directory, 'file');
    await writeFile(file, '');
    const [wrong] = await checksOf('artifacts', { ...environment, HEDDLE_ARTIFACTS_DIR: file });
    assert.match(wrong!, /^fail could not store a content: .*; give this user write permission/);
  });

  test('opens all secrets with the keys', async (t) => {
    const keyFile = join(directory, 'keys');
    await writeFile(keyFile, `${newSecretKey()}\n`, { mode: 0o600 });
    const server = await startHeddle({ flags: { HEDDLE_SECRET_KEY_FILE: keyFile, HEDDLE_POOL_PROVIDER: 'none' } });
    t.after(() => server.stop());
    await new HeddleClient({ baseUrl: server.url }).secrets.set('PHRASE', 'correct horse', ['Command']);
    const DATABASE_URL = server.databaseUrl;
    const environment = { DATABASE_URL, HEDDLE_SECRET_KEY_FILE: keyFile };
    assert.deepEqual(await checksOf('secret keys', environment), [`ok ${keyFile}, opens 1 secret; null`]);
    await chmod(keyFile, 0o644);
    assert.deepEqual(await checksOf('secret keys', environment), [
      `fail ${keyFile} is readable by other users; chmod 600 ${keyFile}`,
    ]);
    const [other] = await checksOf('secret keys', { DATABASE_URL, HEDDLE_SECRET_KEYS: newSecretKey() });
    assert.match(
      other!,
      /^fail This process has no key [0-9a-f]{8}, which the secret PHRASE needs; add the missing key/,
    );
    const [absent] = await checksOf('secret keys', { DATABASE_URL, HEDDLE_SECRET_KEY_FILE: `${keyFile}-2` });
    assert.match(absent!, /^fail .*keys-2 \(HEDDLE_SECRET_KEY_FILE\) does not exist; heddle secret new-key/);
  });

  test('runs a command in each tier that is enabled', async (t) => {
    const made = await createTestDatabase();
    t.after(() => made.drop());
    const DATABASE_URL = made.url;
    assert.deepEqual(await checksOf('commands', { DATABASE_URL }), ['ok off; HEDDLE_COMMANDS enables them; null']);
    const [process, container] = await checksOf('commands', {
      DATABASE_URL,
      HEDDLE_COMMANDS: 'process,container',
      HEDDLE_COMMAND_ENGINE: '/nonexistent/podman',
    });
    assert.equal(process, 'ok process works; null');
    assert.match(container!, /^fail container: .*\/nonexistent\/podman.*; install podman/);
    const [jail] = await checksOf('commands', { DATABASE_URL, HEDDLE_COMMANDS: 'jail' });
    if (HAS_BUBBLEWRAP) assert.equal(jail, 'ok jail works; null');
    else assert.match(jail!, /^fail jail: .*; install bubblewrap/);
  });
});
