import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Answer } from 'dns-packet';

import type { DnsRecord, DnsType } from '../../src/records.ts';
import type { Scope } from '../../src/targets/port.ts';
import { seededRandom } from '@heddle/base/random';
import { EVERYTHING, numbered, type Query, reply, scan, startNameServer } from '../support/dns/scanning.ts';

type Zone = (name: string, type: string) => Omit<Answer, 'name'>[] | null;

/** Answers by a function; null means nonexistent. */
const serve = (zone: Zone) =>
  startNameServer((query: Query) => {
    const found = zone(query.name, query.type);
    if (found === null) return [reply(query, { rcode: 'NXDOMAIN' })];
    return [reply(query, { answers: found.map((answer) => ({ name: query.name, ttl: 60, ...answer }) as Answer) })];
  });

const a = (...addresses: string[]): Omit<Answer, 'name'>[] => addresses.map((data) => ({ type: 'A', data }) as const);

async function wildcardsOf(
  zone: Zone,
  names: Iterable<string>,
  { types = ['A'], scope = EVERYTHING }: { types?: DnsType[]; scope?: Scope } = {},
): Promise<{ marks: Record<string, boolean | undefined>; records: DnsRecord[]; asked: string[] }> {
  const server = await serve(zone);
  try {
    const { records } = await scan({ names, types, scope, resolvers: [server.address], wildcards: true });
    const marks = Object.fromEntries(records.map(({ host, wildcard }) => [host, wildcard]));
    return { marks, records, asked: server.queries.map(({ name }) => name) };
  } finally {
    await server.close();
  }
}

test('distinguishes wildcard answers from existing names', async () => {
  const own: Record<string, string> = { 'www.wild.test': '192.0.2.1', 'same.wild.test': '192.0.2.9' };
  const zone: Zone = (name) => (name.endsWith('.wild.test') ? a(own[name] ?? '192.0.2.9') : null);
  const { marks } = await wildcardsOf(zone, ['www.wild.test', 'same.wild.test', 'nothing.wild.test', 'gone.test']);
  assert.deepEqual(marks, {
    'www.wild.test': false,
    'same.wild.test': true,
    'nothing.wild.test': true,
    'gone.test': undefined,
  });
});

test('each level of a zone has its own verdict', async () => {
  const zone: Zone = (name) => {
    if (name === 'api.example.test') return a('192.0.2.1');
    return name.endsWith('.dev.example.test') ? a('192.0.2.9') : null;
  };
  const { marks } = await wildcardsOf(zone, ['api.example.test', 'x.dev.example.test', 'y.x.dev.example.test']);
  assert.deepEqual(marks, { 'api.example.test': false, 'x.dev.example.test': true, 'y.x.dev.example.test': true });
});

test('reordered sets and subsets are the same wildcard', async () => {
  let turn = 0;
  const zone: Zone = (name) => {
    if (name === 'real.wild.test') return a('192.0.2.1', '192.0.2.200');
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    return a(...addresses.slice(turn % 3), ...addresses.slice(0, turn++ % 3));
  };
  const { marks } = await wildcardsOf(zone, ['one.wild.test', 'two.wild.test', 'real.wild.test']);
  assert.deepEqual(marks, { 'one.wild.test': true, 'two.wild.test': true, 'real.wild.test': false });
});

test('addresses that change within their networks are the same wildcard', async () => {
  const random = seededRandom(9);
  const zone: Zone = (name) =>
    name.startsWith('real') ? a('198.51.100.7') : a(`192.0.2.${Math.floor(random.next() * 256)}`);
  const { marks } = await wildcardsOf(zone, ['one.wild.test', 'two.wild.test', 'real.wild.test']);
  assert.deepEqual(marks, { 'one.wild.test': true, 'two.wild.test': true, 'real.wild.test': false });
});

test('if every answer is from another network, all are marked', async () => {
  let turn = 0;
  const zone: Zone = () => a(`10.${turn++}.0.1`);
  const { marks } = await wildcardsOf(zone, ['one.wild.test']);
  assert.deepEqual(marks, { 'one.wild.test': true });
});

test('an alias is compared by its target, whatever its addresses', async () => {
  let turn = 0;
  const server = await startNameServer((query) => {
    const target = query.name === 'real.wild.test' ? 'own.host.test' : 'cdn.host.test';
    const answers: Answer[] = [
      { type: 'CNAME', name: query.name, ttl: 60, data: target },
      { type: 'A', name: target, ttl: 60, data: `10.${turn++ % 250}.0.1` },
    ];
    return [reply(query, { answers })];
  });
  const names = ['one.wild.test', 'real.wild.test'];
  const { records } = await scan({ names, resolvers: [server.address], wildcards: true });
  await server.close();
  const marks = Object.fromEntries(records.map(({ host, wildcard }) => [host, wildcard]));
  assert.deepEqual(marks, { 'one.wild.test': true, 'real.wild.test': false });
});

test('finds wildcards of other types too', async () => {
  const zone: Zone = (_name, type) =>
    type === 'TXT' ? [{ type: 'TXT', data: ['v=any'] } as Omit<Answer, 'name'>] : [];
  const { records } = await wildcardsOf(zone, ['one.wild.test'], { types: ['A', 'TXT'] });
  assert.deepEqual(records.map(({ query_type, wildcard }) => [query_type, wildcard]).sort(), [
    ['A', undefined],
    ['TXT', true],
  ]);
});

test('a zone gets a few extra queries, whatever the number of its names', async () => {
  const zone: Zone = () => a('192.0.2.9');
  const { asked, records } = await wildcardsOf(zone, numbered(2000, 'wild.test'));
  assert.ok(records.every(({ wildcard }) => wildcard === true));
  // A busy machine may repeat some of them.
  assert.equal(new Set(asked).size, 2003);
});

test('random names respect the scope', async () => {
  const scope: Scope = {
    ...EVERYTHING,
    checkName: (name) => (name === 'example.test' ? { allowed: true } : { allowed: false, reason: 'no' }),
  };
  const { asked, marks } = await wildcardsOf(() => a('192.0.2.9'), ['example.test'], { scope });
  assert.deepEqual(asked, ['example.test']);
  assert.deepEqual(marks, { 'example.test': false });
});

test('a zone without answers to random names delays nothing', async () => {
  const server = await startNameServer((query) =>
    query.name.startsWith('host')
      ? [reply(query, { answers: [{ type: 'A', name: query.name, data: '192.0.2.1' }] })]
      : [],
  );
  const changes = { names: numbered(50), resolvers: [server.address], retries: 0, timeoutMs: 100, wildcards: true };
  const { records } = await scan(changes);
  await server.close();
  assert.equal(records.length, 50);
  assert.ok(records.every(({ wildcard }) => wildcard === false));
});
