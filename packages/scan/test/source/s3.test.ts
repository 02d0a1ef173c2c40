import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';

import { CreateBucketCommand, DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { startFauxqs } from 'fauxqs';

import type { SourceSpec } from '../../src/options.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import { openSource } from '../../src/source/open-source.ts';
import { ObjectFault } from '../../src/source/port.ts';
import { conforms, listAll, readAll, readAndClose } from '../support/source/conformance.ts';

// The SDK finds these by itself in production; the test server accepts any.
process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';

type S3Spec = Extract<SourceSpec, { type: 's3' }>;

const server = await startFauxqs({ port: 0, logger: false });
const client = new S3Client({ endpoint: server.address, region: 'us-east-1', forcePathStyle: true });
after(async () => {
  client.destroy();
  await server.stop();
});

let buckets = 0;

async function newBucket(objects: Readonly<Record<string, string | Uint8Array>>): Promise<S3Spec> {
  buckets += 1;
  const bucket = `bucket-${buckets}`;
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  for (const [key, content] of Object.entries(objects)) await put(bucket, key, content);
  return { type: 's3', bucket, endpoint: server.address, force_path_style: true };
}

async function put(bucket: string, key: string, content: string | Uint8Array): Promise<void> {
  await client.send(
    new PutObjectCommand({
      Bucket: bucket,
      Key: key,
      Body: Buffer.from(content),
      ContentLength: Buffer.byteLength(content),
    }),
  );
}

async function list(spec: S3Spec) {
  const source = await openSource(spec);
  try {
    return await listAll(source);
  } finally {
    await source.close();
  }
}

async function faultOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof ObjectFault, String(error));
    return `${error.problem.code} ${error.problem.extent}: ${error.problem.message}`;
  }
  return 'none';
}

const keys = ['a', 'b/c', 'b/d e+f&<>%20.txt', 'b/\u00fc\u4e16.txt', 'b/', '..', '//x', 'z'];
const spec = await newBucket({ ...Object.fromEntries(keys.map((key) => [key, key === 'b/' ? '' : key])) });
const many = await newBucket({});
for (let from = 0; from < 2100; from += 100) {
  const batch = Array.from({ length: 100 }, (_, index) => `key-${from + index}`);
  await Promise.all(batch.map((key) => put(many.bucket, key, '')));
}

describe('S3 source', () => {
  conforms({ name: 's3', open: () => openSource(spec), objects: keys.length - 1 });

  it('reads objects whose keys have any characters', async () => {
    const { objects } = await list(spec);
    assert.deepEqual(objects.map(({ locator }) => locator).sort(), keys.filter((key) => key !== 'b/').sort());
    const opener = await openOpener(spec);
    for (const object of objects) {
      assert.equal(object.path, `s3://${spec.bucket}/${object.locator}`);
      assert.equal(await readAndClose(await opener.open(object)), object.locator);
    }
    await opener.close();
    const below = await list({ ...spec, prefix: 'b/' });
    assert.ok(below.objects.every(({ locator, size_hint }) => size_hint === Buffer.byteLength(locator)));
    assert.ok(below.objects.every(({ locator }) => locator.startsWith('b/')));
  });

  it('resumes within any page, even after it lost objects', async () => {
    const source = await openSource(many);
    const whole = await listAll(source, 700);
    assert.equal(new Set(whole.objects.map(({ locator }) => locator)).size, 2100);
    for (const [index, state] of whole.cursors.entries()) {
      const rest = await listAll(source, 900, state);
      assert.deepEqual(rest.objects, whole.objects.slice(whole.counts[index]));
    }
    for (const gone of [699, 500, 3])
      await client.send(new DeleteObjectCommand({ Bucket: many.bucket, Key: whole.objects[gone]!.locator }));
    const fresh = await openSource(many);
    assert.deepEqual((await listAll(fresh, 900, whole.cursors[0])).objects, whole.objects.slice(700));
    await fresh.close();
    await source.close();
  });

  it('reads in parts, at any offset', async () => {
    const content = Buffer.from(Array.from({ length: 5_000_001 }, (_, index) => (index * 7) % 253));
    const big = await newBucket({ big: content, empty: '' });
    const opener = await openOpener(big);
    const reader = await opener.open({ path: 'big', locator: 'big' });
    assert.equal(reader.size, content.length);
    assert.ok((await readAll(reader, 700_000)).equals(content));
    const target = Buffer.alloc(100);
    assert.equal(await reader.read(target, 10, 90, 4_999_990), 11);
    assert.ok(target.subarray(10, 21).equals(content.subarray(4_999_990)));
    assert.equal(await reader.read(target, 0, 100, 5_000_001), 0);
    await reader.close();
    const empty = await opener.open({ path: 'empty', locator: 'empty' });
    assert.deepEqual([empty.size, await readAndClose(empty)], [0, '']);
    const all = await Promise.all(
      Array.from({ length: 20 }, async () => readAll(await opener.open({ path: 'big', locator: 'big' }), 2_000_000)),
    );
    assert.ok(all.every((one) => one.equals(content)));
    await opener.close();
  });

  it('reports what changed or vanished', async () => {
    const large = Buffer.alloc(3_000_000, 'x');
    const changing = await newBucket({ one: large, two: large });
    const opener = await openOpener(changing);
    assert.match(await faultOf(() => opener.open({ path: 'none', locator: 'none' })), /^vanished skipped/);
    for (const key of ['one', 'two']) {
      const reader = await opener.open({ path: key, locator: key });
      if (key === 'one') await put(changing.bucket, key, Buffer.alloc(3_000_000, 'y'));
      else await client.send(new DeleteObjectCommand({ Bucket: changing.bucket, Key: key }));
      const what = key === 'one' ? 'replaced' : 'deleted';
      assert.match(await faultOf(() => readAll(reader)), new RegExp(`^changed_while_read partial: it was ${what}`));
      await reader.close();
    }
    await opener.close();
  });

  it('explains why it cannot list', async () => {
    await assert.rejects(list({ ...spec, bucket: 'no-such-bucket' }), /there is no bucket no-such-bucket/);
  });
});

describe('S3 behaviour that only a cloud service has', () => {
  it('reports archived objects, reads restored ones, and retries broken transfers', async () => {
    const contents = [
      ['cold', '<StorageClass>GLACIER</StorageClass>'],
      [
        'restored',
        '<StorageClass>DEEP_ARCHIVE</StorageClass><RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress><RestoreExpiryDate>2030-01-01T00:00:00Z</RestoreExpiryDate></RestoreStatus>',
      ],
      ['tiered', '<StorageClass>INTELLIGENT_TIERING</StorageClass>'],
      ['a%0Bb+c', '<StorageClass>STANDARD</StorageClass>'],
    ].map(([key, rest]) => `<Contents><Key>${key!}</Key><Size>10</Size>${rest!}</Contents>`);
    const xml = `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`;
    let broken = 0;
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      if (searchParams.has('list-type')) response.setHeader('content-type', 'application/xml').end(xml);
      else if (pathname.endsWith('/tiered'))
        response
          .writeHead(403, { 'content-type': 'application/xml' })
          .end('<Error><Code>InvalidObjectState</Code></Error>');
      else {
        response.writeHead(206, { 'content-range': 'bytes 0-9/10', 'content-length': '10', etag: '"v"' });
        broken += 1;
        if (broken > 2) response.end('0123456789');
        else response.write('01234', () => request.socket.destroy());
      }
    };
    const http = createServer(answer).listen(0, '127.0.0.1');
    await new Promise((resolve) => http.once('listening', resolve));
    const { port } = http.address() as { port: number };
    const spec: S3Spec = { type: 's3', bucket: 'cloud', endpoint: `http://127.0.0.1:${port}`, force_path_style: true };
    const { objects, problems } = await list(spec);
    assert.deepEqual(
      objects.map(({ locator }) => locator),
      ['restored', 'tiered', 'a\vb c'],
    );
    assert.deepEqual(
      problems.map(({ path, code }) => [path, code]),
      [['s3://cloud/cold', 'unreadable']],
    );
    const opener = await openOpener(spec);
    assert.match(await faultOf(() => opener.open(objects[1]!)), /^unreadable skipped: it is archived/);
    assert.equal(await readAndClose(await opener.open(objects[2]!)), '0123456789');
    assert.equal(broken, 3);
    await opener.close();
    http.close();
    http.closeAllConnections();
  });
});
