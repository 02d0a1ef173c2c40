import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Answer } from 'dns-packet';

import { RECORDS_WAITING_MAX, scanDns } from '../../src/dns/scan.ts';
import type { ProbeProgress } from '../../src/options.ts';
import type { DnsRecord, DnsType } from '../../src/records.ts';
import type { Pace, Scope } from '../../src/targets/port.ts';
import { systemClock } from '@heddle/base/clock';
import {
  environment,
  eventually,
  EVERYTHING,
  numbered,
  options,
  type Query,
  reply,
  scan,
  startNameServer,
  truncated,
  udpSockets,
} from '../support/dns/scanning.ts';

const address = ({ name }: Query, data = '192.0.2.1', ttl = 60): Answer => ({ type: 'A', name, ttl, data });

test('queries and reads every type', async (t) => {
  const data: Partial<Record<string, object>> = {
    A: { data: '192.0.2.1' },
    AAAA: { data: '2001:db8::1' },
    CNAME: { data: 'alias.example.test' },
    MX: { data: { preference: 5, exchange: 'mail.example.test' } },
    NS: { data: 'ns.example.test' },
    TXT: { data: ['hello'] },
    SOA: { data: { mname: 'ns.test', rname: 'a.test', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 } },
    SRV: { data: { priority: 1, weight: 2, port: 3, target: 'srv.example.test' } },
    CAA: { data: { flags: 0, tag: 'issue', value: 'ca.test' } },
  };
  const server = await startNameServer((query) => {
    const answer = { type: query.type, name: query.name, ttl: 60, ...data[query.type] } as Answer;
    return [reply(query, { answers: [answer] })];
  });
  t.after(() => server.close());
  const types: DnsType[] = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'TXT', 'SOA', 'SRV', 'CAA', 'PTR'];
  const { records, notices } = await scan({ names: ['Example.TEST.'], resolvers: [server.address], types });
  assert.deepEqual(notices, []);
  assert.equal(records.length, 9);
  for (const record of records) {
    assert.equal(record.host, 'example.test');
    assert.equal(record.resolver, server.address);
    assert.equal(record.status_code, 'NOERROR');
    assert.equal(record.ttl, 60);
    assert.ok(record.rtt_ms! >= 0);
    assert.match(record.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
  const merged = Object.assign({}, ...records) as DnsRecord;
  assert.deepEqual(merged.a, ['192.0.2.1']);
  assert.deepEqual(merged.aaaa, ['2001:db8::1']);
  assert.deepEqual(merged.cname, ['alias.example.test']);
  assert.deepEqual(merged.mx, [{ preference: 5, exchange: 'mail.example.test' }]);
  assert.deepEqual(merged.ns, ['ns.example.test']);
  assert.deepEqual(merged.txt, ['hello']);
  assert.deepEqual(merged.soa, [
    { mname: 'ns.test', rname: 'a.test', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 },
  ]);
  assert.deepEqual(merged.srv, [{ priority: 1, weight: 2, port: 3, target: 'srv.example.test' }]);
  assert.deepEqual(merged.caa, [{ flags: 0, tag: 'issue', value: 'ca.test' }]);
});

test('queries addresses of both families for PTR', async (t) => {
  const server = await startNameServer((query) => [
    reply(query, { answers: [{ type: 'PTR', name: query.name, ttl: 1, data: 'host.test' }] }),
  ]);
  t.after(() => server.close());
  const names = ['192.0.2.7', '2001:db8::1', 'name.test'];
  const { records, notices } = await scan({ names, resolvers: [server.address], types: ['PTR', 'A'] });
  assert.deepEqual(records.map(({ host, query_type }) => `${host} ${query_type}`).sort(), [
    '192.0.2.7 PTR',
    '2001:db8::1 PTR',
    'name.test A',
  ]);
  assert.deepEqual(
    server.queries
      .filter(({ type }) => type === 'PTR')
      .map(({ name }) => name)
      .sort(),
    ['1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa', '7.2.0.192.in-addr.arpa'],
  );
  assert.deepEqual(notices, []);
});

test('a resolver may have an IPv6 address', async (t) => {
  const server = await startNameServer((query) => [reply(query, { answers: [address(query)] })], '::1');
  t.after(() => server.close());
  const { records } = await scan({ names: numbered(50), resolvers: [server.address] });
  assert.equal(records.filter(({ a }) => a?.[0] === '192.0.2.1').length, 50);
});

test('distinguishes nonexistent names, missing records and failures', async (t) => {
  const codes: Record<string, Parameters<typeof reply>[1]> = {
    'gone.test': { rcode: 'NXDOMAIN' },
    'empty.test': {},
    'broken.test': { rcode: 'SERVFAIL' },
    'refused.test': { rcode: 'REFUSED' },
  };
  const server = await startNameServer((query) => [reply(query, codes[query.name])]);
  t.after(() => server.close());
  const { records } = await scan({ names: Object.keys(codes), resolvers: [server.address] });
  assert.deepEqual(records.map(({ host, status_code, ttl }) => `${host} ${status_code} ${ttl}`).sort(), [
    'broken.test SERVFAIL null',
    'empty.test NOERROR null',
    'gone.test NXDOMAIN null',
    'refused.test REFUSED null',
  ]);
  const asked = (name: string): number => server.queries.filter((query) => query.name === name).length;
  assert.equal(asked('broken.test'), 2, 'a failure is retried');
  assert.equal(asked('refused.test'), 1, 'a refusal is not');
});

test('another resolver answers what one refuses', async (t) => {
  const refusing = await startNameServer((query) => [reply(query, { rcode: 'REFUSED' })]);
  const answering = await startNameServer((query) => [reply(query, { answers: [address(query)] })]);
  t.after(() => Promise.all([refusing.close(), answering.close()]));
  const resolvers = [refusing.address, answering.address];
  const { records } = await scan({ names: numbered(300), resolvers });
  assert.equal(records.length, 300);
  assert.ok(records.every(({ status_code, resolver }) => status_code === 'NOERROR' && resolver === answering.address));
});

test('a server without EDNS support is queried without it', async (t) => {
  for (const bare of [true, false]) {
    const server = await startNameServer((query) => {
      if ((query.packet.additionals?.length ?? 0) === 0) return [reply(query, { answers: [address(query)] })];
      const { bytes } = reply(query, { rcode: 'FORMERR' });
      if (!bare) return [{ bytes }];
      bytes.writeUInt16BE(0, 4);
      return [{ bytes: bytes.subarray(0, 12) }];
    });
    t.after(() => server.close());
    const { records } = await scan({ names: numbered(20), resolvers: [server.address], inFlight: 1 });
    assert.equal(records.filter(({ status_code }) => status_code === 'NOERROR').length, 20);
    assert.equal(server.queries.length, 21, 'EDNS is tried once');
  }
});

test('truncated answers are fetched over TCP, on persistent connections', async (t) => {
  const many = (query: Query): Answer[] =>
    Array.from({ length: 200 }, (_, at) => address(query, `10.0.${at >> 8}.${at & 255}`));
  const server = await startNameServer((query) =>
    query.via === 'udp' ? [truncated(query)] : [reply(query, { answers: many(query) })],
  );
  t.after(() => server.close());
  const { records } = await scan({ names: numbered(500), resolvers: [server.address] });
  assert.equal(records.length, 500);
  assert.ok(records.every(({ a, tcp }) => a?.length === 200 && tcp === true));
  assert.ok(server.connections.total <= 2, `${server.connections.total} connections`);
});

test('connections that the server closes after each answer are reopened', async (t) => {
  const server = await startNameServer((query) => {
    if (query.via === 'udp') return [truncated(query)];
    return [{ ...reply(query, { answers: [address(query)] }), close: true }];
  });
  t.after(() => server.close());
  const { records } = await scan({ names: numbered(30), resolvers: [server.address] });
  assert.deepEqual(new Set(records.map(({ status_code }) => status_code)), new Set(['NOERROR']));
});

test('a server that truncates and accepts no connection costs no more than its timeout', async (t) => {
  const server = await startNameServer((query) => (query.via === 'udp' ? [truncated(query)] : []));
  t.after(() => server.close());
  const changes = { names: numbered(20), resolvers: [server.address], retries: 1, timeoutMs: 100 };
  const { records } = await scan(changes);
  assert.equal(records.length, 20);
  assert.ok(records.every(({ status_code, resolver }) => status_code === 'TIMEOUT' && resolver === null));
});

test('a silent resolver leads to a timeout after the permitted number of queries', async (t) => {
  const server = await startNameServer(() => []);
  t.after(() => server.close());
  const changes = { names: numbered(10), resolvers: [server.address], retries: 2, timeoutMs: 50 };
  const { records } = await scan(changes);
  assert.deepEqual(
    records.map(({ status_code, resolver, rtt_ms }) => [status_code, resolver, rtt_ms]),
    Array(10).fill(['TIMEOUT', null, null]),
  );
  assert.equal(server.queries.length, 30);
});

test('names are validated and checked against the scope; rejections are reported and counted', async (t) => {
  const server = await startNameServer((query) => [reply(query, { answers: [address(query)] })]);
  t.after(() => server.close());
  const scope: Scope = {
    check: (ip) => (ip === '10.0.0.1' ? { allowed: true } : { allowed: false, reason: 'it is not listed' }),
    checkName: (name) =>
      name.endsWith('.test') ? { allowed: true } : { allowed: false, reason: 'example.com is not listed' },
  };
  const names = [
    'www.example.com',
    'bad name',
    'a..test',
    '',
    'bücher.test',
    'ok.test',
    '10.0.0.1',
    '10.0.0.2',
    'x'.repeat(64),
  ];
  const { records, notices } = await scan({ names, scope, resolvers: [server.address], types: ['A', 'PTR'] });
  assert.deepEqual(records.map(({ host }) => host).sort(), ['10.0.0.1', 'ok.test', 'xn--bcher-kva.test']);
  assert.equal(notices.length, 6);
  assert.match(notices[0]!, /"www\.example\.com" not queried: example\.com is not listed/);
  assert.match(notices[1]!, /' ' cannot be in a name/);
  assert.equal(server.queries.length, 3);
});

test('many rejections are reported as a number', async (t) => {
  const server = await startNameServer((query) => [reply(query)]);
  t.after(() => server.close());
  const scope: Scope = { ...EVERYTHING, checkName: () => ({ allowed: false, reason: 'no' }) };
  const { records, notices } = await scan({ names: numbered(5000), scope, resolvers: [server.address] });
  assert.equal(records.length, 0);
  assert.equal(notices.length, 21);
  assert.equal(notices.at(-1), '5000 names in total were not queried');
});

test('respects the pace, and reports answers to it', async (t) => {
  const server = await startNameServer((query) => [reply(query, { answers: [address(query)] })]);
  t.after(() => server.close());
  const startMs = performance.now();
  let taken = 0;
  let observed = 0;
  const left = (): number => Math.floor((performance.now() - startMs) / 2) - taken;
  const pace: Pace = {
    rate: 500,
    available: (max) => Math.max(0, Math.min(max, left())),
    take(host) {
      assert.equal(host, '127.0.0.1');
      if (left() < 1) return 2;
      taken += 1;
      return 0;
    },
    observe: (_sent, answered) => (observed += answered),
  };
  const { records } = await scan({ names: numbered(100), resolvers: [server.address] }, { pace });
  assert.equal(records.length, 100);
  assert.equal(taken, 100);
  assert.ok(performance.now() - startMs >= 198, 'a hundred queries at 500 a second');
  assert.ok(observed > 0 && observed < 100);
});

test('sending pauses while the consumer does not read', async (t) => {
  const server = await startNameServer((query) => [reply(query, { answers: [address(query)] })]);
  t.after(() => server.close());
  let read = 0;
  const names = (function* () {
    for (const name of numbered(1_000_000)) {
      read += 1;
      yield name;
    }
  })();
  const records = scanDns(options({ names, resolvers: [server.address], inFlight: 64 }), environment());
  await records.next();
  let before = -1;
  while (read !== before) {
    before = read;
    // fixed wait: that nothing happens any more can only be seen over a time
    await systemClock.sleep(100);
  }
  const bound = 2 * RECORDS_WAITING_MAX + 64;
  assert.ok(read <= bound, `${read} names were taken, ${bound} may be`);
  await records.return();
});

test('lists may be slow, and the scan ends with them', async (t) => {
  const server = await startNameServer((query) => [reply(query, { answers: [address(query)] })]);
  t.after(() => server.close());
  const steps = Array.from({ length: 3 }, () => Promise.withResolvers<string>());
  const names = (async function* () {
    for (const { promise } of steps) yield await promise;
  })();
  const records = scanDns(options({ names, resolvers: [server.address] }), environment());
  for (const [at, { resolve }] of steps.entries()) {
    const next = records.next();
    resolve(`host${at}.test`);
    const { value } = await next;
    assert.equal((value as DnsRecord).host, `host${at}.test`, 'a name is queried as soon as it arrives');
  }
  assert.equal((await records.next()).done, true);
});

test('an error of the list of names ends the scan', async (t) => {
  const server = await startNameServer((query) => [reply(query, { answers: [address(query)] })]);
  t.after(() => server.close());
  const failing = (function* () {
    yield 'host.test';
    throw new Error('the file is gone');
  })();
  await assert.rejects(scan({ names: failing, resolvers: [server.address] }), /the file is gone/);
  await eventually(() => udpSockets() === 2, 'those of the server are left alone');
});

test('an abort ends a scan at once, with its reason', async (t) => {
  const server = await startNameServer(() => []);
  t.after(() => server.close());
  const controller = new AbortController();
  const run = scan({ names: numbered(100_000), resolvers: [server.address] }, { signal: controller.signal });
  await eventually(() => server.queries.length > 0, 'the scan is under way');
  controller.abort(new Error('enough'));
  await assert.rejects(run, /enough/);
  await eventually(() => udpSockets() === 2, 'those of the server are left alone');
  await assert.rejects(scan({ names: ['a.test'], resolvers: [] }, { signal: controller.signal }), /enough/);
});

test('ending early releases every socket and timer', async (t) => {
  const server = await startNameServer((query) =>
    query.via === 'udp' && query.name.startsWith('host1')
      ? [truncated(query)]
      : [reply(query, { answers: [address(query)] })],
  );
  t.after(() => server.close());
  let returned = false;
  const names = (function* () {
    try {
      yield* numbered(100_000);
    } finally {
      returned = true;
    }
  })();
  let seen = 0;
  for await (const record of scanDns(options({ names, resolvers: [server.address] }), environment())) {
    assert.ok(record.host !== '');
    if (++seen === 500) break;
  }
  assert.equal(returned, true, 'the list is closed');
  await eventually(() => udpSockets() === 2, 'those of the server are left alone');
  await eventually(() => server.connections.open === 0, 'connections are closed');
});

test('progress is reported, and complete at the end', async (t) => {
  const server = await startNameServer((query) => [
    reply(query, { answers: query.type === 'A' ? [address(query)] : [] }),
  ]);
  t.after(() => server.close());
  const reports: ProbeProgress[] = [];
  const onProgress = (progress: ProbeProgress): void => void reports.push({ ...progress });
  const names = [...numbered(200), 'not a name'];
  await scan({ names, total: 201, types: ['A', 'MX'], resolvers: [server.address] }, { onProgress });
  assert.deepEqual(reports.at(-1), { done: 201, total: 201, sent: 400, found: 200 });
});

test('invalid resolvers are rejected with the expected form', async () => {
  for (const resolver of ['dns.example.test', '127.0.0.1:0', '127.0.0.1:99999', '300.1.1.1', '']) {
    await assert.rejects(
      scan({ names: ['a.test'], resolvers: [resolver] }),
      (error: Error & { details?: string[] }) => {
        assert.match(error.message, /is not a resolver/);
        assert.match(error.details![0]!, /must be an address/);
        return true;
      },
    );
  }
});
