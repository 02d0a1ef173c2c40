import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseResolver, Resolver } from '../../src/dns/resolver.ts';
import { seededRandom } from '@heddle/base/random';
import { numbered, type Query, reply, type Reply, scan, startNameServer } from '../support/dns/scanning.ts';

const answer = (query: Query): Reply =>
  reply(query, { answers: [{ type: 'A', name: query.name, ttl: 60, data: '192.0.2.1' }] });

const lossy = (share: number, seed: number): ((query: Query) => Reply[]) => {
  const random = seededRandom(seed);
  return (query) => (random.next() < share ? [] : [answer(query)]);
};

test('without loss every name is answered with one query each', async (t) => {
  const server = await startNameServer((query) => [answer(query)]);
  t.after(() => server.close());
  const { records } = await scan({ names: numbered(20_000), resolvers: [server.address] });
  assert.equal(new Set(records.filter(({ a }) => a !== undefined).map(({ host }) => host)).size, 20_000);
  assert.equal(records.length, 20_000);
});

test('under one percent of loss every name is answered with few extra queries', async (t) => {
  const server = await startNameServer(lossy(0.01, 11));
  t.after(() => server.close());
  const { records } = await scan({ names: numbered(20_000), resolvers: [server.address], retries: 15 });
  assert.equal(records.filter(({ a }) => a !== undefined).length, 20_000);
  t.diagnostic(`recall under 1 % loss: 100 %, ${(server.queries.length / 20_000).toFixed(4)} queries a name`);
});

test('a resolver that loses packets is used less', async (t) => {
  const bad = await startNameServer(lossy(0.5, 5));
  const good = await startNameServer((query) => [answer(query)]);
  t.after(() => Promise.all([bad.close(), good.close()]));
  // A busy machine drops packets of the good one too: enough attempts that none of the names runs out of them.
  const changes = { names: numbered(5000), resolvers: [bad.address, good.address], retries: 15 };
  const { records } = await scan(changes);
  assert.equal(records.filter(({ a }) => a !== undefined).length, 5000);
  assert.ok(bad.queries.length * 2 < good.queries.length, `${bad.queries.length} to the bad, ${good.queries.length}`);
});

test('a dead resolver is avoided', async (t) => {
  const dead = await startNameServer(() => []);
  const good = await startNameServer((query) => [answer(query)]);
  t.after(() => Promise.all([dead.close(), good.close()]));
  const changes = { names: numbered(5000), resolvers: [dead.address, good.address], timeoutMs: 300 };
  const { records } = await scan(changes);
  assert.equal(records.filter(({ a }) => a !== undefined).length, 5000);
  assert.ok(dead.queries.length < 1000, `${dead.queries.length} queries to a dead resolver`);
});

test('many resolvers share the work', async (t) => {
  const servers = await Promise.all(Array.from({ length: 12 }, () => startNameServer((query) => [answer(query)])));
  t.after(() => Promise.all(servers.map((server) => server.close())));
  const { records } = await scan({ names: numbered(6000), resolvers: servers.map(({ address }) => address) });
  assert.equal(records.length, 6000);
  for (const { queries } of servers) assert.ok(queries.length > 50, `one got ${queries.length} of 6,000`);
});

test('parses resolvers in every spelling', () => {
  const read = (text: string): string => new Resolver(parseResolver(text), 1000, 10).text;
  assert.equal(read('192.0.2.1'), '192.0.2.1:53');
  assert.equal(read('192.0.2.1:5353'), '192.0.2.1:5353');
  assert.equal(read('2001:DB8:0::1'), '[2001:db8::1]:53');
  assert.equal(read('[2001:db8::1]'), '[2001:db8::1]:53');
  assert.equal(read('[::1]:5353'), '[::1]:5353');
  assert.equal(read('fe80::1%eth0'), '[fe80::1%eth0]:53');
  assert.throws(() => parseResolver('one.example.test'), /is not a resolver/);
});

test("timeouts follow a resolver's latency, and double", () => {
  const resolver = new Resolver(parseResolver('192.0.2.1'), 5000, 100);
  assert.equal(resolver.timeoutMs(0), 5000, 'nothing is known yet');
  for (let nowMs = 0; nowMs < 5000; nowMs += 100) resolver.onAnswer(400, nowMs);
  const onceMs = resolver.timeoutMs(0);
  assert.ok(onceMs >= 400 && onceMs < 500, `${onceMs} ms for a resolver that takes 400`);
  assert.equal(resolver.timeoutMs(1), 2 * onceMs);
  assert.equal(resolver.timeoutMs(9), 5000);
});
