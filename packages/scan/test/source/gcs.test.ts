import assert from 'node:assert/strict';
import { after, it } from 'node:test';

import type { SourceSpec } from '../../src/options.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import { GcsServer } from '../support/gcs-server.ts';
import { bucketsConform, faultOf } from '../support/source/bucket-conformance.ts';
import { readAndClose } from '../support/source/conformance.ts';

type GcsSpec = Extract<SourceSpec, { type: 'gcs' }>;

const server = new GcsServer();
await server.start();
after(() => server.stop());

let buckets = 0;

function newBucket(): Promise<GcsSpec> {
  buckets += 1;
  const bucket = `bucket-${buckets}`;
  server.buckets.set(bucket, new Map());
  return Promise.resolve({ type: 'gcs', bucket, endpoint: server.url });
}

bucketsConform<GcsSpec>({
  name: 'gcs',
  newBucket,
  put: ({ bucket }, key, content) => {
    server.put(bucket, key, content);
    return Promise.resolve();
  },
  remove: ({ bucket }, key) => {
    server.buckets.get(bucket)!.delete(key);
    return Promise.resolve();
  },
  prefix: ({ bucket }) => `gs://${bucket}/`,
  missing: { bucket: 'no-such-bucket' },
  missingMessage: /^Error: gs:\/\/no-such-bucket\/: there is no bucket no-such-bucket/,
  // The service has no object of this name.
  without: ['..'],
  // A pinned version is missing in both cases.
  changed: /was replaced or deleted while it was read/,
});

it('a broken transfer from Google Cloud Storage is repeated, a refusal is a problem', async (t) => {
  const spec = await newBucket();
  server.put(spec.bucket, 'a', '0123456789');
  server.put(spec.bucket, 'denied', 'x');
  let broken = 0;
  server.intercept = (request, response) => {
    if (request.url!.includes('/denied')) {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":{"code":403,"message":"no"}}');
      return true;
    }
    broken += 1;
    if (broken > 2) return false;
    response.writeHead(206, { 'content-range': 'bytes 0-9/10', 'content-length': '10', 'x-goog-generation': '1' });
    response.write('01234', () => request.socket.destroy());
    return true;
  };
  t.after(() => (server.intercept = () => false));
  const opener = await openOpener(spec);
  assert.equal(await readAndClose(await opener.open({ path: 'a', locator: 'a' })), '0123456789');
  assert.equal(broken, 3);
  const fault = await faultOf(() => opener.open({ path: 'denied', locator: 'denied' }));
  assert.equal(fault, 'unreadable skipped: access denied; storage.objects.get is needed');
  await opener.close();
});
