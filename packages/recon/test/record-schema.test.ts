import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, describe, test, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import type { Static } from 'typebox';
import { Compile } from 'typebox/schema';

import { scanDns } from '../src/dns/scan.ts';
import { projectDiscoveryLine } from '../src/projectdiscovery.ts';
import { ProjectDiscoveryLineSchema } from '@heddle/test-support/recon/projectdiscovery-schema';
import type { DnsRecord, PortRecord, ReconRecord, TlsRecord } from '../src/records.ts';
import {
  DnsRecordSchema,
  PortRecordSchema,
  ReconRecordSchema,
  TlsRecordSchema,
} from '@heddle/test-support/recon/record-schema';
import { scanTcp } from '../src/tcp/scan.ts';
import { makeCertificate, makeHierarchy } from '@heddle/test-support/certificates';
import { reply, startNameServer } from '@heddle/test-support/name-server';
import { serveTcp, serveTls } from '@heddle/test-support/tls-servers';
import { DNS_TYPES } from '../src/dns/codes.ts';
import { options as dnsOptions } from './support/dns/scanning.ts';
import { collect, endpointsOf, environmentOf, probe } from './support/tls/fixture.ts';

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;

// The compiler checks that the schemas and the types of the probes agree.
const SAME: [
  Same<Static<typeof PortRecordSchema>, PortRecord>,
  Same<Static<typeof DnsRecordSchema>, DnsRecord>,
  Same<Static<typeof TlsRecordSchema>, TlsRecord>,
] = [true, true, true];

const PUBLISHED = join(import.meta.dirname, '../../../docs/scanning/recon-records.schema.json');

const schema = JSON.parse(JSON.stringify(ReconRecordSchema)) as typeof ReconRecordSchema;
const record = Compile(schema);
const lines = Compile(JSON.parse(JSON.stringify(ProjectDiscoveryLineSchema)) as typeof ProjectDiscoveryLineSchema);

/** Parses a record like a consumer of the command line. */
function checked(records: readonly ReconRecord[]): ReconRecord[] {
  for (const each of records) {
    const read: unknown = JSON.parse(JSON.stringify(each));
    assert.ok(record.Check(read), `${JSON.stringify(each)}\n${JSON.stringify(record.Errors(read))}`);
    const line: unknown = JSON.parse(JSON.stringify(projectDiscoveryLine(each)));
    assert.ok(lines.Check(line), `${JSON.stringify(line)}\n${JSON.stringify(lines.Errors(line))}`);
  }
  return [...records];
}

test('the published schema is that of the code', () => {
  assert.deepEqual(SAME, [true, true, true]);
  const text = `${JSON.stringify(schema, null, 2)}\n`;
  if (process.env['UPDATE_SCHEMA'] === '1') writeFileSync(PUBLISHED, text);
  const published = JSON.parse(readFileSync(PUBLISHED, 'utf8')) as unknown;
  assert.ok(isDeepStrictEqual(published, schema), 'run this test with UPDATE_SCHEMA=1, and review the difference');
});

describe('real records match it', () => {
  const seen = new Map<string, Set<string>>();
  const remember = (records: readonly ReconRecord[]): void => {
    for (const each of records) {
      const members = seen.get(each.type) ?? new Set();
      for (const name of Object.keys(each)) members.add(name);
      seen.set(each.type, members);
    }
  };

  test('ports: open with a banner, closed', async (t) => {
    const server = await serveTcp(t, (socket) => socket.write('220 hello \u0000\xff\r\n'));
    const port = await closedPort();
    const options = {
      endpoints: endpointsOf(
        [server.port, port].map((each) => ({ host: 'localhost', ip: '127.0.0.1', family: 4, port: each })),
      ),
      method: 'connect',
      states: ['open', 'closed', 'filtered'],
      retries: 0,
      timeoutMs: 2000,
      concurrency: 4,
      banner: true,
    } as const;
    const records = checked(await collect(scanTcp(options, environmentOf())));
    remember(records);
    assert.deepEqual(records.map((each) => (each as PortRecord).state).sort(), ['closed', 'open']);
  });

  test('names: every type, none, an error, and a timeout', async (t) => {
    const ttl = 60;
    const data = {
      A: '10.0.0.1',
      AAAA: 'fd00::1',
      CNAME: 'other.example.test',
      MX: { preference: 10, exchange: 'mail.example.test' },
      NS: 'ns.example.test',
      TXT: ['one', 'two'],
      SOA: { mname: 'ns.test', rname: 'root.test', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 },
      SRV: { priority: 1, weight: 2, port: 443, target: 'a.example.test' },
      CAA: { flags: 128, tag: 'issue', value: 'ca.test' },
      PTR: 'back.example.test',
    };
    const server = await startNameServer((query) => {
      if (query.name === 'silent.example.test') return [];
      if (query.name === 'none.example.test') return [reply(query, { rcode: 'NXDOMAIN' })];
      if (query.name === 'broken.example.test') return [{ bytes: query.bytes.subarray(0, 5) }];
      const type = query.type as keyof typeof data;
      return [reply(query, { answers: [{ type, name: query.name, ttl, data: data[type] } as never] })];
    });
    t.after(() => server.close());
    const names = ['all', 'none', 'silent', 'broken'].map((label) => `${label}.example.test`);
    const shared = { resolvers: [server.address], retries: 0, timeoutMs: 300 };
    const forwards = dnsOptions({
      ...shared,
      names,
      types: DNS_TYPES.filter((type) => type !== 'PTR'),
      wildcards: true,
    });
    const records = checked(await collect(scanDns(forwards, environmentOf())));
    const backwards = dnsOptions({ ...shared, names: ['10.0.0.1'], types: ['PTR'] });
    records.push(...checked(await collect(scanDns(backwards, environmentOf()))));
    remember(records);
    const codes = new Set(records.map((each) => (each as DnsRecord).status_code));
    for (const code of ['NOERROR', 'NXDOMAIN', 'TIMEOUT']) assert.ok(codes.has(code), code);
    assert.equal(records.length, 4 * 9 + 1);
  });

  describe('TLS endpoints', () => {
    let chain: Awaited<ReturnType<typeof makeCertificate>>[];

    before(async () => {
      const { root, intermediate } = await makeHierarchy();
      chain = [await makeCertificate({ name: '*.example.test', issuer: intermediate }), intermediate, root];
    });

    const all = { versions: true, ciphers: true, alpn: ['h2'] };

    test('with a chain, versions and suites; without a name; with no TLS at all; closed', async (t) => {
      const server = await serveTls(t, chain, { ALPNProtocols: ['h2'], minVersion: 'TLSv1' });
      const plain = await serveTcp(t, (socket) => socket.end('HTTP/1.0 400\r\n\r\n'));
      const records = [
        await probe({ host: 'www.example.test', port: server.port, ...all }),
        await probe({ port: server.port, certificates: false }),
        await probe({ port: server.port, starttls: 'smtp', timeoutMs: 300 }),
        await probe({ port: plain.port, ...all }),
        await probe({ port: await closedPort() }),
      ];
      remember(checked(records));
      assert.deepEqual(
        records.map(({ probe_status }) => probe_status),
        [true, true, false, false, false],
      );
    });

    test('of an endpoint with every problem', async (t: TestContext) => {
      const certificate = await makeCertificate({
        name: 'other.test',
        key: 'rsa1024',
        hash: 'SHA-1',
        notBefore: new Date('2020-01-01'),
        notAfter: new Date('2020-02-01'),
      });
      const server = await serveTls(t, [certificate]);
      const found = await probe({ host: 'www.example.test', port: server.port });
      remember(checked([found]));
      for (const finding of ['expired', 'self_signed', 'mismatched'] as const)
        assert.ok(found.findings?.includes(finding));
    });
  });

  test('every described member was seen, except those that need a special server', () => {
    const described = { port: PortRecordSchema, dns: DnsRecordSchema, tls: TlsRecordSchema };
    const rare = new Set(['tcp', 'wildcard']);
    for (const [type, { properties }] of Object.entries(described)) {
      const missing = Object.keys(properties).filter((name) => seen.get(type)?.has(name) !== true && !rare.has(name));
      assert.deepEqual(missing, [], type);
    }
  });
});

test('it rejects anything but records', () => {
  const one: PortRecord = {
    type: 'port',
    host: 'a.test',
    ip: '10.0.0.1',
    port: 80,
    protocol: 'tcp',
    state: 'open',
    reason: 'syn-ack',
    method: 'syn',
    rtt_ms: 0.1,
    timestamp: new Date(0).toISOString(),
  };
  assert.ok(record.Check(one));
  const others = [
    { ...one, port: 0 },
    { ...one, state: 'ajar' },
    { ...one, extra: 1 },
    { ...one, timestamp: '1970' },
    {},
  ];
  for (const other of others) assert.equal(record.Check(other), false, JSON.stringify(other));
});

/** A loopback port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
