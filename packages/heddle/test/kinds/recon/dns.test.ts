/** Scans of names as whole workflows, on a real database, with a real name server on loopback. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { Answer } from 'dns-packet';

import type { JsonObject } from '@heddle/base/json';
import { ReconPolicy } from '../../../src/kinds/recon/policy.ts';
import { systemClock } from '@heddle/base/clock';
import { reply, startNameServer, type NameServer } from '@heddle/test-support/name-server';
import { newReconBench, runWorkflow, type ReconBench } from '@heddle/test-support/kinds/recon/run-workflow';

const ALL = { after: null, limit: 10_000 };

type Zone = Record<string, Answer[] | 'SERVFAIL' | 'silence'>;

const a = (name: string, ...addresses: string[]): Answer[] =>
  addresses.map((data) => ({ name, type: 'A', class: 'IN', ttl: 60, data }));

describe('a scan of names as a workflow', () => {
  let bench: ReconBench;
  let server: NameServer;
  let zone: Zone = {};

  before(async () => {
    const policy = new ReconPolicy({ scope: ['example.test'], rate: 100_000, clock: systemClock });
    bench = await newReconBench({ policy });
    server = await startNameServer((query) => {
      const [, ...rest] = query.name.split('.');
      const answers = zone[`${query.name}/${query.type}`] ?? zone[`*.${rest.join('.')}/${query.type}`];
      if (answers === 'silence') return [];
      if (answers === 'SERVFAIL') return [reply(query, { rcode: 'SERVFAIL' })];
      if (answers === undefined) return [reply(query, { rcode: 'NXDOMAIN' })];
      const named = answers.map((answer) => ({ ...answer, name: query.name }));
      // In another order each time, like round robin.
      return [reply(query, { answers: query.repeat % 2 === 0 ? named : named.reverse() })];
    });
  });

  after(async () => {
    await server.close();
    await bench.engine.close();
  });

  const generator = (input: object) => ({
    kind: 'DnsScanGenerator',
    input: { resolvers: [server.address], rate: 50_000, host_rate: 50_000, retries: 1, timeout_ms: 200, ...input },
  });
  const keysOf = async (target: string): Promise<string[]> =>
    (await bench.models.list({ target, model: 'name' }, ALL)).map(({ key, state }) => `${state} ${key}`).sort();

  it('records what names resolve to and what has changed, regardless of order', async () => {
    zone = {
      'www.example.test/A': a('www', '10.0.0.2', '10.0.0.1'),
      'old.example.test/A': a('old', '10.0.0.3'),
      'example.test/MX': [
        { name: 'x', type: 'MX', ttl: 60, data: { preference: 20, exchange: 'b.example.test' } },
        { name: 'x', type: 'MX', ttl: 60, data: { preference: 10, exchange: 'a.example.test' } },
      ],
      '5.0.0.10.in-addr.arpa/PTR': [{ name: 'x', type: 'PTR', ttl: 60, data: 'five.example.test' }],
    };
    const targets = ['www.example.test', 'old.example.test', 'example.test', 'none.example.test', '10.0.0.5'];
    const input = { target: 'zone', targets, types: ['A', 'MX'] };
    const first = await runWorkflow(bench, generator(input));
    assert.equal(first.state, 'succeeded');
    const merged = first.of('DnsScanAggregator')!;
    assert.deepEqual([merged['complete'], merged['new']], [true, 4]);
    assert.deepEqual(merged['counts'], { NOERROR: 4, NXDOMAIN: 5 });
    assert.deepEqual(await keysOf('zone'), [
      'new 10.0.0.5/PTR',
      'new example.test/MX',
      'new old.example.test/A',
      'new www.example.test/A',
    ]);
    const [www] = await bench.models.list({ target: 'zone', key_prefix: 'www.' }, ALL);
    assert.deepEqual(www!.data, { name: 'www.example.test', type: 'A', a: ['10.0.0.1', '10.0.0.2'] });
    zone['old.example.test/A'] = a('old', '10.0.0.4');
    delete zone['example.test/MX'];
    const second = (await runWorkflow(bench, generator(input))).of('DnsScanAggregator')!;
    assert.deepEqual([second['new'], second['changed'], second['known'], second['gone']], [0, 1, 2, 1]);
  });

  it('makes nothing gone if a resolver does not answer, or has no answer', async () => {
    zone = { 'a.example.test/A': a('a', '10.0.0.1'), 'b.example.test/A': a('b', '10.0.0.2') };
    const input = { target: 'dead', targets: ['a.example.test', 'b.example.test'], types: ['A'] };
    await runWorkflow(bench, generator(input));
    zone['b.example.test/A'] = 'silence';
    const silent = await runWorkflow(bench, generator(input));
    const merged = silent.of('DnsScanAggregator')!;
    assert.deepEqual(
      [silent.state, merged['complete'], merged['known'], merged['gone']],
      ['partially_failed', false, 1, 0],
    );
    assert.match((merged['incomplete'] as string[])[0]!, /b\.example\.test A: TIMEOUT$/);
    zone['b.example.test/A'] = 'SERVFAIL';
    const refused = (await runWorkflow(bench, generator(input))).of('DnsScanAggregator')!;
    assert.deepEqual([refused['complete'], refused['gone']], [false, 0]);
    const accepted = (await runWorkflow(bench, generator({ ...input, accept: ['SERVFAIL'] }))).of('DnsScanAggregator')!;
    assert.deepEqual([accepted['complete'], accepted['gone']], [true, 1]);
    const dead = await runWorkflow(
      bench,
      generator({ ...input, resolvers: ['127.0.0.1:1'], timeout_ms: 50, retries: 0 }),
    );
    const scan = dead.of('DnsScan')!;
    assert.deepEqual([scan['outcome'], scan['skipped_count'], scan['record_count']], ['incomplete', 2, 0]);
    assert.equal(dead.of('DnsScanAggregator')!['gone'], 0);
  });

  it('creates tasks with the requested settings', async () => {
    zone = { 'example.test/A': a('x', '10.0.0.1') };
    const task = { timeout_secs: 120, timeout_basis: 'start', priority: 7 };
    const input = { target: 'settings', targets: ['example.test'], types: ['A'], task };
    const { results } = await runWorkflow(bench, generator(input));
    const [scan] = results.filter(({ kind }) => kind === 'DnsScan');
    const { timeout_secs, deadline_basis, priority } = (await bench.engine.getTask(scan!.task_id))!;
    assert.deepEqual([timeout_secs, deadline_basis, priority], [120, 'start', 7]);
  });

  it('prepends words to names, in large numbers too, and recognizes wildcard zones', async () => {
    const words = Array.from({ length: 3000 }, (_, n) => `word-${n}`);
    zone = {
      'example.test/A': a('x', '10.0.0.1'),
      'word-7.example.test/A': a('x', '10.0.0.7'),
      '*.wild.example.test/A': a('x', '10.0.0.99'),
      'word-9.wild.example.test/A': a('x', '10.0.0.9'),
    };
    const run = await runWorkflow(
      bench,
      generator({
        target: 'words',
        targets: ['example.test', 'wild.example.test'],
        types: ['A'],
        words,
        timeout_ms: 5000,
        rate: 3000,
      }),
    );
    const merged = run.of('DnsScanAggregator')!;
    assert.deepEqual([run.state, merged['complete'], Number(merged['tasks']) > 3], ['succeeded', true, true]);
    assert.deepEqual(await keysOf('words'), [
      'new example.test/A',
      'new word-7.example.test/A',
      'new word-9.wild.example.test/A',
    ]);
  });

  it('queries nothing out of scope, and reports it', async () => {
    const asked = server.queries.length;
    const run = await runWorkflow(bench, generator({ target: 'scope', targets: ['other.test', 'sub.other.test'] }));
    assert.deepEqual([run.state, server.queries.length], ['failed', asked]);
    zone = { 'www.example.test/A': a('x', '10.0.0.1') };
    const mixed = await runWorkflow(
      bench,
      generator({ target: 'scope', targets: ['other.test', 'www.example.test'], types: ['A'] }),
    );
    const merged = mixed.of('DnsScanAggregator')!;
    assert.deepEqual([merged['complete'], merged['new']], [false, 1]);
    assert.match((merged['incomplete'] as string[])[0]!, /^other\.test: no entry of the scope covers/);
    assert.ok(server.queries.every(({ name }) => !name.includes('other.test')));
  });

  it('leaves unresolvable names out of a port scan, and reports them', async () => {
    zone = {
      'up.example.test/A': a('x', '127.0.0.1'),
      'silent.example.test/A': 'SERVFAIL',
      'silent.example.test/AAAA': [],
    };
    const input = {
      targets: ['up.example.test', 'silent.example.test', 'none.example.test'],
      ports: '9',
      method: 'connect',
      resolvers: [server.address],
      target: 'lookups',
    };
    const run = await runWorkflow(bench, { kind: 'TcpSynGenerator', input });
    const scan = run.of('TcpSyn')!;
    assert.deepEqual(
      [scan['unresolved'], scan['skipped_count'], run.of('TcpSynAggregator')!['complete']],
      [2, 1, false],
    );
    const [left] = scan['skipped'] as JsonObject[];
    assert.deepEqual(left, {
      target: 'silent.example.test',
      reason: 'no resolver answered for silent.example.test',
    });
  });
});
