import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import type { Static } from 'typebox';
import { Compile } from 'typebox/schema';

import type { DnsxLine, NaabuLine, TlsxLine } from '../src/projectdiscovery.ts';
import { projectDiscoveryLine } from '../src/projectdiscovery.ts';
import type {
  DnsxLineSchema,
  NaabuLineSchema,
  TlsxLineSchema,
} from '@heddle/test-support/recon/projectdiscovery-schema';
import { ProjectDiscoveryLineSchema } from '@heddle/test-support/recon/projectdiscovery-schema';
import type { DnsRecord, PortRecord, ReconRecord, TlsRecord } from '../src/records.ts';

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;

const SAME: [
  Same<Static<typeof NaabuLineSchema>, NaabuLine>,
  Same<Static<typeof DnsxLineSchema>, DnsxLine>,
  Same<Static<typeof TlsxLineSchema>, TlsxLine>,
] = [true, true, true];

const PUBLISHED = join(import.meta.dirname, '../../../docs/scanning/recon-projectdiscovery.schema.json');
const schema = JSON.parse(JSON.stringify(ProjectDiscoveryLineSchema)) as typeof ProjectDiscoveryLineSchema;
const lines = Compile(schema);

const timestamp = '2026-01-01T00:00:00.000Z';

/** Parses a line like a consumer. */
function lineOf(record: ReconRecord): unknown {
  const line: unknown = JSON.parse(JSON.stringify(projectDiscoveryLine(record)));
  assert.ok(lines.Check(line), JSON.stringify(lines.Errors(line)));
  return line;
}

test('the published schema is that of the code', () => {
  assert.deepEqual(SAME, [true, true, true]);
  if (process.env['UPDATE_SCHEMA'] === '1') writeFileSync(PUBLISHED, `${JSON.stringify(schema, null, 2)}\n`);
  assert.deepEqual(
    JSON.parse(readFileSync(PUBLISHED, 'utf8')),
    schema,
    'run this test with UPDATE_SCHEMA=1, and review the difference',
  );
});

test('an open port is a line of naabu, with its name if it has one', () => {
  const port: PortRecord = {
    type: 'port',
    host: 'www.example.test',
    ip: '10.0.0.1',
    port: 443,
    protocol: 'tcp',
    state: 'open',
    reason: 'syn-ack',
    method: 'syn',
    rtt_ms: 1,
    banner: 'x',
    timestamp,
  };
  const line = { ip: '10.0.0.1', timestamp, port: 443, protocol: 'tcp', tls: false };
  assert.deepEqual(lineOf(port), { host: 'www.example.test', ...line });
  assert.deepEqual(lineOf({ ...port, host: '10.0.0.1' }), line);
});

test('a name is a line of dnsx: lists of resolvers and strings, flat answers, no empty members', () => {
  const name: DnsRecord = {
    type: 'dns',
    host: 'example.test',
    resolver: '10.0.0.53:53',
    query_type: 'MX',
    status_code: 'NOERROR',
    mx: [
      { preference: 10, exchange: 'a.test' },
      { preference: 20, exchange: 'b.test' },
    ],
    srv: [{ priority: 1, weight: 2, port: 3, target: 'c.test' }],
    caa: [{ flags: 0, tag: 'issue', value: 'd.test' }],
    soa: [{ mname: 'ns.test', rname: 'root.test', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 }],
    txt: [],
    ttl: 60,
    wildcard: true,
    rtt_ms: 1,
    timestamp,
  };
  assert.deepEqual(lineOf(name), {
    host: 'example.test',
    ttl: 60,
    resolver: ['10.0.0.53:53'],
    mx: ['a.test', 'b.test'],
    srv: ['c.test'],
    caa: ['d.test'],
    soa: [
      {
        name: 'example.test',
        ns: 'ns.test',
        mailbox: 'root.test',
        serial: 1,
        refresh: 2,
        retry: 3,
        expire: 4,
        minttl: 5,
      },
    ],
    status_code: 'NOERROR',
    timestamp,
  });
  const missing: DnsRecord = {
    type: 'dns',
    host: 'x.test',
    resolver: null,
    query_type: 'A',
    status_code: 'NXDOMAIN',
    ttl: null,
    rtt_ms: null,
    timestamp,
  };
  assert.deepEqual(lineOf(missing), { host: 'x.test', status_code: 'NXDOMAIN', status_code_raw: 3, timestamp });
  const silent = lineOf({ ...missing, status_code: 'TIMEOUT' });
  assert.deepEqual(silent, { host: 'x.test', status_code: 'TIMEOUT', timestamp });
});

test('an endpoint is a line of tlsx: a string port, lists of organizations, suites by version and strength', () => {
  const hashes = { md5: '1', sha1: '2', sha256: '3' };
  const certificate = {
    subject_dn: 'CN=*.example.test,O=Shop',
    subject_cn: '*.example.test',
    subject_org: ['Shop'],
    subject_an: ['*.example.test'],
    issuer_dn: 'CN=Authority',
    issuer_cn: 'Authority',
    issuer_org: [],
    serial: '0A:0B',
    not_before: timestamp,
    not_after: timestamp,
    key_type: 'RSA',
    key_bits: 2048,
    signature_algorithm: 'x',
    fingerprint_hash: hashes,
    self_signed: false,
  };
  const endpoint: TlsRecord = {
    type: 'tls',
    host: 'www.example.test',
    ip: '10.0.0.1',
    port: 443,
    sni: 'www.example.test',
    probe_status: true,
    tls_version: 'tls13',
    cipher: 'TLS_AES_128_GCM_SHA256',
    alpn: 'h2',
    version_enum: ['tls13', 'tls12'],
    cipher_enum: { tls12: ['TLS_RSA_WITH_RC4_128_SHA', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'] },
    ...certificate,
    wildcard_certificate: true,
    expired: true,
    mismatched: false,
    untrusted: true,
    findings: ['expired'],
    chain: [{ ...certificate, subject_cn: null, issuer_org: ['Org'], self_signed: true }],
    ja3s_hash: 'f',
    rtt_ms: 1,
    timestamp,
  };
  const { key_type, key_bits, signature_algorithm, self_signed, issuer_org, ...written } = certificate;
  const { subject_cn, ...above } = written;
  assert.deepEqual(lineOf(endpoint), {
    timestamp,
    host: 'www.example.test',
    ip: '10.0.0.1',
    port: '443',
    probe_status: true,
    tls_version: 'tls13',
    cipher: 'TLS_AES_128_GCM_SHA256',
    ...written,
    wildcard_certificate: true,
    expired: true,
    untrusted: true,
    chain: [{ ...above, issuer_org: ['Org'], self_signed: true }],
    ja3s_hash: 'f',
    sni: 'www.example.test',
    version_enum: ['tls13', 'tls12'],
    cipher_enum: [
      {
        version: 'tls12',
        ciphers: { weak: ['TLS_RSA_WITH_RC4_128_SHA'], secure: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'] },
      },
    ],
  });
  const closed: TlsRecord = {
    type: 'tls',
    host: '10.0.0.1',
    ip: '10.0.0.1',
    port: 444,
    sni: null,
    probe_status: false,
    error: 'refused',
    rtt_ms: null,
    timestamp,
  };
  const refused = { timestamp, host: '10.0.0.1', ip: '10.0.0.1', port: '444', probe_status: false, error: 'refused' };
  assert.deepEqual(lineOf(closed), refused);
});
