import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';

import { CreateBucketCommand, DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { startFauxqs } from 'fauxqs';

import type { SourceSpec } from '../../src/options.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import { openSource } from '../../src/source/open-source.ts';
import { bucketsConform, faultOf } from '../support/source/bucket-conformance.ts';
import { listAll, readAndClose } from '../support/source/conformance.ts';

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

async function newBucket(): Promise<S3Spec> {
  buckets += 1;
  const bucket = `bucket-${buckets}`;
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return { type: 's3', bucket, endpoint: server.address, force_path_style: true };
}

async function put({ bucket }: S3Spec, key: string, content: string | Uint8Array): Promise<void> {
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

bucketsConform({
  name: 's3',
  newBucket,
  put,
  remove: async ({ bucket }, key) => {
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
  },
  prefix: ({ bucket }) => `s3://${bucket}/`,
  missing: { bucket: 'no-such-bucket' },
  missingMessage: /there is no bucket no-such-bucket/,
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
