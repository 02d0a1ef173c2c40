import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { HttpVerification } from '../../src/detect/rules/verification-spec.ts';
import { awsSignature } from '../../src/verify/aws-signature.ts';
import { buildRequest } from '../../src/verify/build-request.ts';

/** The key and the time of the examples that AWS publishes for Signature Version 4. */
const KEY = { service: 'service', region: 'us-east-1', id: 'AKIDEXAMPLE', session: '' };
const SECRET = ['wJalrXUtnFEMI', 'K7MDENG+bPxRfiCYEXAMPLEKEY'].join('/');
const AT = Date.UTC(2015, 7, 30, 12, 36);

function signatureOf(url: string): string | undefined {
  const request = { method: 'GET', url: new URL(url), headers: {}, body: '' };
  const { authorization = '' } = awsSignature(request, { ...KEY, key: SECRET }, AT);
  return /Signature=([0-9a-f]{64})$/.exec(authorization)?.[1];
}

test('requests are signed as in the published examples', () => {
  assert.equal(
    signatureOf('https://example.amazonaws.com/'),
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  );
  assert.equal(
    signatureOf('https://example.amazonaws.com/?Param2=value2&Param1=value1'),
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  );
});

test('a session token is signed along', () => {
  const request = { method: 'GET', url: new URL('https://sts.amazonaws.com/'), headers: { accept: 'a' }, body: '' };
  const headers = awsSignature(request, { ...KEY, key: SECRET, session: 'token' }, AT);
  assert.equal(headers['x-amz-security-token'], 'token');
  assert.match(headers['authorization']!, /SignedHeaders=accept;host;x-amz-date;x-amz-security-token,/);
});

test('headers of Amazon in a description are signed, as S3 demands', () => {
  const spec: HttpVerification = {
    type: 'http',
    name: 'storage',
    provider: 'Storage',
    method: 'GET',
    url: 'https://storage.example.com/',
    headers: { 'X-Amz-Content-Sha256': 'hash', 'X-Other': 'other' },
    sign: { service: 's3', region: 'auto', id: '{{id}}', key: '{{secret}}', session: '' },
    companions: [],
    active: [{ status: [200] }],
    inactive: [],
    identity: [],
    permissions: [],
  };
  const { headers } = buildRequest(spec, { id: 'i', secret: 's' }, null, 'agent').at(AT);
  assert.equal(headers['x-amz-content-sha256'], 'hash');
  assert.match(headers['authorization']!, /SignedHeaders=accept;host;x-amz-content-sha256;x-amz-date,/);
});
