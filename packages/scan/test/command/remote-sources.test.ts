import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CommandDirectory } from '../support/command-directory.ts';
import { bucketSource } from '../../src/command/bucket-sources.ts';
import { forgeAddress } from '../../src/source/forge/address.ts';
import { networkAdvice } from '../../src/source/bucket/store.ts';
import { rateLimitWaitMs } from '../../src/source/forge/rate-limit.ts';

const request = {
  paths: [],
  s3Endpoint: null,
  s3Region: null,
  s3PathStyle: false,
  gcsEndpoint: null,
  azureEndpoint: 'http://127.0.0.1:10000/account/',
};

test('a service that cannot be reached is said to be so, as every library reports it', () => {
  const messages = [
    'connect ECONNREFUSED 127.0.0.1:1',
    'request to http://a/b failed, reason: getaddrinfo ENOTFOUND a',
  ];
  assert.deepEqual(messages.map(networkAdvice), [
    'the service cannot be reached (ECONNREFUSED); check its address and the network',
    'the service cannot be reached (ENOTFOUND); check its address and the network',
  ]);
  assert.equal(networkAdvice('the certificate has expired'), null);
});

test('a path names a bucket of a provider', () => {
  const { azureEndpoint: _endpoint, ...rest } = request;
  assert.deepEqual(bucketSource('gs://backups/2025/a', request), { type: 'gcs', bucket: 'backups', prefix: '2025/a' });
  assert.deepEqual(bucketSource('az://backups/2025', request), {
    type: 'azure',
    container: 'backups',
    prefix: '2025',
    endpoint: 'http://127.0.0.1:10000/account',
    address: 'az://backups',
  });
  assert.deepEqual(bucketSource('https://acme.blob.core.windows.net/backups', { ...rest, azureEndpoint: null }), {
    type: 'azure',
    container: 'backups',
    endpoint: 'https://acme.blob.core.windows.net',
    address: 'https://acme.blob.core.windows.net/backups',
  });
  assert.equal(bucketSource('https://acme.blob.core.windows.net.evil.example/backups', request), null);
  assert.equal(bucketSource('./gs', request), null);
  assert.throws(() => bucketSource('gs:///x', request), /gs:\/\/\/x: has no bucket; it must be gs:\/\/bucket/);
  assert.throws(
    () => bucketSource('https://acme.blob.core.windows.net/backups?sv=2024&sig=secret', request),
    (error: Error) => /AZURE_STORAGE_SAS_TOKEN/.test(error.message) && !error.message.includes('secret'),
  );
});

test('addresses of servers are those of their pages or their APIs, with TLS or on this machine', () => {
  const own = { api: 'https://git.example.com/api/v3', web: 'https://git.example.com' };
  assert.deepEqual(forgeAddress('github', 'https://git.example.com/'), own);
  assert.deepEqual(forgeAddress('github', 'https://git.example.com/api/v3'), own);
  assert.deepEqual(forgeAddress('github', 'https://api.github.com'), forgeAddress('github', undefined));
  assert.deepEqual(forgeAddress('github', 'https://acme.ghe.com'), {
    api: 'https://api.acme.ghe.com',
    web: 'https://acme.ghe.com',
  });
  assert.deepEqual(forgeAddress('gitlab', 'https://example.com/gitlab'), {
    api: 'https://example.com/gitlab/api/v4',
    web: 'https://example.com/gitlab',
  });
  assert.ok(forgeAddress('gitlab', 'http://127.0.0.1:8080') !== null);
  for (const refused of ['http://git.example.com', 'https://a:b@git.example.com', 'ftp://x', 'https://x/?a=b', 'x'])
    assert.equal(forgeAddress('gitlab', refused), null, refused);
});

test('rate limits are waited for by the clock of the server', () => {
  const limitMs = (status: number, headers: Record<string, string>, text = '') =>
    rateLimitWaitMs({ status, headers, text }, 5_000_000);
  assert.equal(limitMs(200, { 'retry-after': '5' }), null);
  assert.equal(limitMs(403, { 'x-ratelimit-remaining': '12' }), null, 'forbidden');
  assert.equal(limitMs(429, { 'retry-after': '7' }), 7000);
  assert.equal(limitMs(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '5010' }), 11_000);
  const date = new Date(4_000_000).toUTCString();
  assert.equal(limitMs(429, { 'ratelimit-reset': '4010', date }), 11_000);
  assert.equal(limitMs(429, { 'retry-after': new Date(5_009_000).toUTCString() }), 9000);
  assert.equal(limitMs(429, {}), 60_000);
  const secondary = '{"message":"You have exceeded a secondary rate limit. Please wait."}';
  assert.equal(limitMs(403, { 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': '9999' }, secondary), 60_000);
});

test('the command refuses sources and options that do not fit', async (t) => {
  const directory = new CommandDirectory(t);
  const refusalOf = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await directory.scan(...args);
    assert.equal(code, 2, args.join(' '));
    return stderr;
  };
  assert.match(await refusalOf('--github', 'https://github.com/acme'), /must be an organization, a user, or OWNER/);
  assert.match(await refusalOf('--gitlab-endpoint', 'https://x.example', '--github', 'a'), /needs --gitlab/);
  assert.match(await refusalOf('--github-endpoint', 'http://x.example', '--github', 'a'), /must be an https address/);
  assert.match(await refusalOf('--skip-archived', '.'), /--skip-archived needs --github OWNER or --gitlab GROUP/);
  assert.match(await refusalOf('--gcs-endpoint', 'http://x', '.'), /--gcs-endpoint needs a path such as gs:/);
  assert.match(await refusalOf('https://gitlab.com/acme/shop.git'), /name it with --gitlab acme\/shop/);
  assert.match(await refusalOf('--staged', '--github', 'acme'), /--staged and --github contradict each other/);
});
