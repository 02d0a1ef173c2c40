/** What every store of contents must do: the same cases on a directory and on S3. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';

import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { systemClock } from '@heddle/base/clock';
import { silentLogger, type Logger } from '@heddle/base/log';
import type { BlobStore, ContentId } from '@heddle/core/engine/port';
import { blobStoreOf } from '../../src/app/artifacts/open.ts';
import { startCheckingS3, type CheckingS3 } from '@heddle/test-support/app/checking-s3';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

let directory: string;
let s3: CheckingS3;
let s3Client: S3Client;

before(async () => {
  process.env['AWS_ACCESS_KEY_ID'] = 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'test';
  directory = await mkdtemp(join(tmpdir(), 'heddle-stores-'));
  s3 = await startCheckingS3();
  s3Client = new S3Client({ endpoint: s3.url, region: 'us-east-1', forcePathStyle: true });
  await s3Client.send(new CreateBucketCommand({ Bucket: 'artifacts' }));
});

after(async () => {
  s3Client.destroy();
  await s3.close();
  await rm(directory, { recursive: true });
});

let stores = 0;

/** An empty store, and how to open it once more, as another process does. */
const DRIVERS: Record<string, () => () => BlobStore> = {
  directory: () => {
    stores += 1;
    const artifactsDir = join(directory, `store-${stores}`);
    return () => open({ artifactsDir, artifactsS3: '' });
  },
  s3: () => {
    stores += 1;
    const artifactsS3 = `s3://artifacts/store-${stores}?endpoint=${encodeURIComponent(s3.url)}`;
    return () => open({ artifactsDir: join(directory, 'spool'), artifactsS3 });
  },
};

function open(settings: { artifactsDir: string; artifactsS3: string }, log: Logger = silentLogger): BlobStore {
  return blobStoreOf({ ...settings, dataDir: directory }, { clock: systemClock, log });
}

const idOf = (content: Buffer): ContentId => ({
  digest: createHash('sha256').update(content).digest(),
  size: content.length,
});

async function put(store: BlobStore, content: Buffer): Promise<Buffer> {
  const received = await store.receive(Readable.from(content.length === 0 ? [] : [content]), 64 * MIB);
  await received.keep();
  await received.discard();
  return received.digest;
}

async function all(store: BlobStore, before: number): Promise<string[]> {
  const found: string[] = [];
  for await (const digests of store.list(before)) found.push(...digests.map((digest) => digest.toString('hex')));
  return found.toSorted();
}

for (const [driver, newStore] of Object.entries(DRIVERS)) {
  describe(`contents in ${driver}`, () => {
    test('are the same bytes afterwards, empty ones and large ones too', async () => {
      const store = newStore()();
      for (const size of [0, 1, 65_536, 9 * MIB + 1]) {
        const content = randomBytes(size);
        const received = await store.receive(Readable.from(size === 0 ? [] : [content]), 64 * MIB);
        assert.deepEqual([received.digest, received.size], [idOf(content).digest, size]);
        await received.keep();
        await received.discard();
        assert.ok(content.equals(await buffer(await store.read(received.digest))), `${size} bytes`);
      }
    });

    test('are stored once, also by several processes at the same time', async () => {
      const openStore = newStore();
      const content = randomBytes(100_000);
      const digests = await Promise.all(Array.from({ length: 6 }, () => put(openStore(), content)));
      assert.equal(new Set(digests.map((digest) => digest.toString('hex'))).size, 1);
      assert.deepEqual(await all(openStore(), Infinity), [idOf(content).digest.toString('hex')]);
      assert.ok(content.equals(await buffer(await openStore().read(digests[0]!))));
    });

    test('that are too large, or break off, leave nothing', async () => {
      const store = newStore()();
      const chunk = randomBytes(MIB);
      await assert.rejects(store.receive(Readable.from([chunk, chunk, chunk]), 2 * MIB), { code: 'BODY_TOO_LARGE' });
      const broken = async function* (): AsyncGenerator<Buffer> {
        yield Promise.resolve(chunk);
        throw new Error('connection lost');
      };
      await assert.rejects(store.receive(broken(), 64 * MIB), /connection lost/);
      assert.deepEqual(await all(store, Infinity), []);
      assert.deepEqual(await leftIn(directory), []);
    });

    test('that were removed while they were stored are stored again', async () => {
      const store = newStore()();
      const content = randomBytes(1_000);
      const received = await store.receive(Readable.from([content]), MIB);
      await store.remove([received.digest]);
      await received.keep();
      await received.keep();
      await received.discard();
      assert.ok(content.equals(await buffer(await store.read(received.digest))));
    });

    test('are listed by their age, and removed in sets; a missing one is no error', async () => {
      const store = newStore()();
      const digests: Buffer[] = [];
      for (let n = 0; n < 30; n += 1) digests.push(await put(store, Buffer.from(`content ${n}`)));
      assert.deepEqual(await all(store, systemClock.now() - HOUR_MS), []);
      assert.equal((await all(store, systemClock.now() + HOUR_MS)).length, 30);
      await store.remove([...digests.slice(0, 29), idOf(Buffer.from('never stored')).digest]);
      assert.deepEqual(await all(store, Infinity), [digests[29]!.toString('hex')]);
      await assert.rejects(store.read(digests[0]!).then(buffer));
    });
  });
}

/** Files that are left in any spool or as unfinished contents. */
async function leftIn(path: string): Promise<string[]> {
  const names = await readdir(path, { recursive: true });
  return names.filter((name) => /(^|\/)(spool|unfinished)\/./.test(name));
}

describe('uploads to S3 by signed URLs', () => {
  test('are accepted with the content that was announced, and no other', async () => {
    const store = DRIVERS['s3']!()();
    const content = randomBytes(70_000);
    const id = idOf(content);
    assert.equal(await store.direct!.isUploaded(id), false);
    const { url, headers } = (await store.direct!.signUpload(id))!;
    const wrong = await fetch(url, { method: 'PUT', headers, body: randomBytes(70_000) });
    assert.equal(wrong.status, 400);
    assert.equal(await store.direct!.isUploaded(id), false);
    const right = await fetch(url, { method: 'PUT', headers, body: content });
    assert.equal(right.status, 200);
    assert.equal(await store.direct!.isUploaded(id), true);
    assert.equal(await store.direct!.isUploaded({ ...id, size: 1 }), false);
    // Both are part of the signature, so that S3 refuses a request without them.
    const signed = new URL(url).searchParams.get('X-Amz-SignedHeaders')!.split(';');
    assert.deepEqual(signed, ['content-length', 'host', 'x-amz-checksum-sha256']);
    const download = await store.direct!.signDownload(id.digest, 'a report.txt', 60);
    assert.ok(content.equals(Buffer.from(await (await fetch(download)).arrayBuffer())));
    const { searchParams } = new URL(download);
    assert.equal(searchParams.get('response-content-disposition'), "attachment; filename*=UTF-8''a%20report.txt");
    assert.equal(searchParams.get('response-content-type'), 'application/octet-stream');
  });

  test('are not offered by a service that ignores checksums', async () => {
    const warned: string[] = [];
    const log = { ...silentLogger, warn: (_fields: object, message: string) => void warned.push(message) };
    const artifactsS3 = `s3://artifacts/unchecked?endpoint=${encodeURIComponent(s3.uncheckedUrl)}`;
    const store = open({ artifactsDir: join(directory, 'spool'), artifactsS3 }, log);
    for (let n = 0; n < 3; n += 1) assert.equal(await store.direct!.signUpload(idOf(randomBytes(10))), null);
    assert.deepEqual(warned, ['the store of artifacts ignores checksums: workers upload through the server']);
    assert.deepEqual(await all(store, Infinity), []);
  });

  test('other objects of the bucket are neither listed nor removed', async () => {
    const openStore = DRIVERS['s3']!();
    const prefix = `store-${stores}`;
    await s3Client.send(new PutObjectCommand({ Bucket: 'artifacts', Key: `${prefix}/readme.txt`, Body: 'mine' }));
    await s3Client.send(new PutObjectCommand({ Bucket: 'artifacts', Key: `${prefix}-other/ab/x`, Body: 'mine' }));
    assert.deepEqual(await all(openStore(), Infinity), []);
  });

  test('a service that answers with faults for a while is asked again', async () => {
    const store = DRIVERS['s3']!()();
    await put(store, Buffer.from('connected'));
    s3.fail(3);
    const content = randomBytes(2 * MIB);
    const digest = await put(store, content);
    assert.ok(content.equals(await buffer(await store.read(digest))));
  });

  test('faults name the bucket and the remedy', async () => {
    const artifactsS3 = `s3://missing-bucket/x?endpoint=${encodeURIComponent(s3.url)}`;
    const store = open({ artifactsDir: join(directory, 'spool'), artifactsS3 });
    await assert.rejects(put(store, Buffer.from('x')), /s3:\/\/missing-bucket\/x\/: there is no bucket missing-bucket/);
  });
});
