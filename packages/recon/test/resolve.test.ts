import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { openResolver, resolveName, type ResolveOptions } from '../src/resolve.ts';
import { systemClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';
import { eventually, reply, startNameServer, udpSockets } from './support/dns/scanning.ts';

function options(resolvers: readonly string[], changes: Partial<ResolveOptions> = {}): ResolveOptions {
  const signal = new AbortController().signal;
  return { resolvers, timeoutMs: 500, retries: 1, clock: systemClock, random: seededRandom(1), signal, ...changes };
}

test("a name's IPv4 addresses come first", async (t) => {
  const server = await startNameServer((query) => {
    if (query.name !== 'both.test') return [reply(query, { rcode: 'NXDOMAIN' })];
    const data = query.type === 'A' ? ['192.0.2.2', '192.0.2.1'] : ['2001:db8::1'];
    return [reply(query, { answers: data.map((one) => ({ type: query.type as 'A', name: query.name, data: one })) })];
  });
  t.after(() => server.close());
  assert.deepEqual(await resolveName('Both.test.', options([server.address])), [
    '192.0.2.2',
    '192.0.2.1',
    '2001:db8::1',
  ]);
  assert.deepEqual(await resolveName('gone.test', options([server.address])), []);
});

test('many names share one set of sockets', async (t) => {
  const server = await startNameServer((query) => [
    reply(query, { answers: query.type === 'A' ? [{ type: 'A', name: query.name, data: '192.0.2.1' }] : [] }),
  ]);
  t.after(() => server.close());
  const resolver = openResolver(options([server.address], { retries: 8 }));
  t.after(() => resolver.close());
  const names = Array.from({ length: 3000 }, (_, at) => `host${at}.test`);
  const found = await Promise.all(names.map((name) => resolver.resolve(name)));
  assert.ok(found.every((addresses) => addresses.length === 1));
  assert.ok(udpSockets() <= 2 + 4);
  resolver.close();
  await eventually(() => udpSockets() === 2, 'those of the server are left alone');
  await assert.rejects(resolver.resolve('late.test'), /closed/);
});

test('addresses resolve to themselves, and local names without a query', async () => {
  const dead = options(['127.0.0.1:9']);
  assert.deepEqual(await resolveName('192.0.2.1', dead), ['192.0.2.1']);
  assert.deepEqual(await resolveName('2001:db8::1', dead), ['2001:db8::1']);
  assert.deepEqual(await resolveName('localhost', dead), ['127.0.0.1', '::1']);
  assert.deepEqual(await resolveName('www.localhost', dead), ['127.0.0.1', '::1']);
  assert.deepEqual(await resolveName('www.localhost', options([])), ['127.0.0.1', '::1']);
});

/** An entry of the hosts file that is not a loopback name by itself. */
function listedHost(): { name: string; address: string } | undefined {
  const lines = readFileSync('/etc/hosts', 'utf8').split('\n');
  const entries = lines.map((line) => line.replace(/#.*/, '').trim().split(/\s+/));
  const [address = '', name = ''] = entries.find(([, name = 'localhost']) => !/(?:^|\.)localhost$/.test(name)) ?? [];
  return name === '' ? undefined : { name, address };
}

test("the system's resolvers include its hosts file", async (t) => {
  const listed = listedHost();
  if (listed === undefined) {
    t.skip('/etc/hosts of this machine has nothing but localhost');
    return;
  }
  assert.ok((await resolveName(listed.name, options([]))).includes(listed.address));
});

test('invalid names are rejected; silence is an error, not a name without addresses', async (t) => {
  const silent = await startNameServer(() => []);
  t.after(() => silent.close());
  await assert.rejects(resolveName('no name', options([silent.address])), /'no name' is not a name/);
  const unanswered = resolveName('host.test', options([silent.address], { timeoutMs: 50 }));
  await assert.rejects(unanswered, /no resolver answered for host\.test/);
});

test('an abort ends pending lookups', async (t) => {
  const silent = await startNameServer(() => []);
  t.after(() => silent.close());
  const controller = new AbortController();
  const found = resolveName('host.test', options([silent.address], { signal: controller.signal }));
  await eventually(() => silent.queries.length > 0, 'the question is asked');
  controller.abort(new Error('enough'));
  await assert.rejects(found, /enough/);
});
