/** Scans of ports as whole workflows, on a real database, with real listeners on loopback. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import type { Engine, ModelBooks } from '@heddle/core/engine/port';
import { modelsOf } from '@heddle/test-support/engine/models/seen';
import { eventually } from '@heddle/test-support/eventually';
import { Listeners } from '@heddle/test-support/kinds/recon/listeners';
import {
  ended,
  newReconBench,
  runWorkflow,
  startKinds,
  submit,
  type Outcome,
  type ReconBench,
} from '@heddle/test-support/kinds/recon/run-workflow';

const ALL = { after: null, limit: 10_000 };
const QUICK = { method: 'connect', rate: 50_000, host_rate: 50_000, retries: 0 };

describe('a scan of ports as a workflow', () => {
  let bench: ReconBench;
  let listeners: Listeners;

  before(async () => {
    bench = await newReconBench();
    listeners = new Listeners();
  });

  after(async () => {
    await listeners.closeAll();
    await bench.engine.close();
  });

  const generator = (input: object, options: object = {}) => ({
    kind: 'TcpSynGenerator',
    input: { ...QUICK, ...input },
    ...options,
  });
  const scansOf = ({ results }: Outcome): JsonObject[] =>
    results.filter(({ kind }) => kind === 'TcpSyn').map(({ data }) => data as JsonObject);
  const keysOf = async (target: string, model: string): Promise<string[]> =>
    (await bench.models.list({ target, model }, ALL)).map(({ key, state }) => `${state} ${key}`).sort();

  it('finds all listeners, in parts, and reports in later runs what is new, changed and gone', async () => {
    const hosts = Array.from({ length: 8 }, (_, n) => `127.20.0.${n + 1}`);
    for (const host of hosts) await listeners.listen(host, 7001, 'one\r\n');
    await listeners.listen('127.20.0.3', 7002, 'two\r\n');
    const input = {
      target: 'net',
      targets: ['127.20.0.0/28'],
      ports: '7000-7500',
      banner: true,
      partition: { tasks_max: 5, parallelism: 2 },
    };
    const first = await runWorkflow(bench, generator(input));
    assert.deepEqual([first.state, first.tasks], ['succeeded', 7]);
    assert.equal(
      scansOf(first).reduce((sum, { settled }) => sum + Number(settled), 0),
      16 * 501,
      'each endpoint in one part',
    );
    const merged = first.of('TcpSynAggregator')!;
    assert.deepEqual(
      [merged['complete'], merged['new'], merged['tasks'], merged['counts']],
      [true, 17, 5, { open: 9 }],
    );
    assert.equal((await keysOf('net', 'service')).length, 9);
    const [service] = await bench.models.list({ target: 'net', key_prefix: '127.20.0.3:7002' }, ALL);
    assert.deepEqual(service!.data, { ip: '127.20.0.3', port: 7002, protocol: 'tcp', names: [], banner: 'two\\r\\n' });

    const same = (await runWorkflow(bench, generator(input))).of('TcpSynAggregator')!;
    assert.deepEqual([same['new'], same['changed'], same['known'], same['gone']], [0, 0, 17, 0]);
    assert.deepEqual(same['changes'], []);

    await listeners.close('127.20.0.1', 7001);
    await listeners.close('127.20.0.2', 7001);
    await listeners.listen('127.20.0.2', 7001, 'other\r\n');
    await listeners.listen('127.20.0.9', 7003);
    const third = (await runWorkflow(bench, generator(input))).of('TcpSynAggregator')!;
    assert.deepEqual([third['new'], third['changed'], third['gone'], third['changes_omitted']], [2, 1, 2, 0]);
    const changes = (third['changes'] as { state: string; key: string }[]).map(({ state, key }) => `${state} ${key}`);
    assert.deepEqual(changes.sort(), [
      'changed 127.20.0.2:7001/tcp',
      'gone 127.20.0.1',
      'gone 127.20.0.1:7001/tcp',
      'new 127.20.0.9',
      'new 127.20.0.9:7003/tcp',
    ]);
    const changed = (third['changes'] as JsonObject[]).find(({ state }) => state === 'changed')!;
    assert.deepEqual(changed['changes'], [{ field: 'banner', old: 'one\\r\\n', new: 'other\\r\\n' }]);
  });

  it('divides one host by ports, merges its parts, and respects the parallelism', async () => {
    for (const port of [7100, 9100, 11_100, 13_100]) await listeners.listen('127.20.1.1', port);
    const run = await runWorkflow(
      bench,
      generator({
        target: 'one',
        targets: ['127.20.1.1'],
        ports: '7000-15000',
        partition: { tasks_max: 6, parallelism: 2 },
      }),
    );
    assert.equal(run.state, 'succeeded');
    const [host] = await bench.models.list({ target: 'one', model: 'host' }, ALL);
    assert.deepEqual(host!.data['ports'], [7100, 9100, 11_100, 13_100]);
    const { tasks } = await bench.engine.listTasks({ kind: 'TcpSyn', offset: 0, limit: 100 });
    const parts = tasks.filter(({ metadata }) => metadata['port_slice'] !== undefined);
    assert.equal(parts.length, 6);
    for (const { metadata } of parts) assert.deepEqual([metadata['rate'], metadata['host_rate']], [25_000, 25_000]);
    const atOnce = parts.map(
      (task) =>
        parts.filter((other) => other.started_at! <= task.started_at! && other.ended_at! > task.started_at!).length,
    );
    assert.ok(Math.max(...atOnce) <= 2, `${Math.max(...atOnce)} at once`);
  });

  it('probes nothing out of scope, reports it, and makes nothing gone because of it', async () => {
    await listeners.listen('127.20.2.1', 7200);
    await listeners.listen('127.20.2.2', 7200);
    const input = { target: 'scope', ports: '7200', targets: ['127.20.2.1', '127.20.2.2'] };
    await runWorkflow(bench, generator(input));
    const narrowed = await runWorkflow(bench, generator({ ...input, scope: ['127.20.2.1'] }));
    const merged = narrowed.of('TcpSynAggregator')!;
    assert.deepEqual([merged['complete'], merged['known'], merged['gone']], [false, 2, 0]);
    assert.match((merged['incomplete'] as string[])[0]!, /^127\.20\.2\.2: no entry of the scope covers/);
    const mixed = (await runWorkflow(bench, generator({ ...input, targets: ['127.20.2.1', '192.0.2.7'] }))).of(
      'TcpSynAggregator',
    )!;
    assert.deepEqual([mixed['complete'], mixed['settled'], mixed['gone']], [false, 1, 0]);
    const none = await runWorkflow(bench, generator({ ...input, targets: ['192.0.2.7', 'example.com'] }));
    assert.deepEqual([none.state, none.tasks], ['failed', 1]);
    const {
      tasks: [generated],
    } = await bench.engine.listTasks({ kind: 'TcpSynGenerator', offset: 0, limit: 1 });
    assert.match(generated!.failure_reason!, /^nothing may be probed: 192\.0\.2\.7: /);
    const alone = await runWorkflow(bench, {
      kind: 'TcpSyn',
      input: { ...QUICK, targets: ['127.20.2.1', '192.0.2.7'], ports: '7200' },
    });
    const scan = alone.of('TcpSyn')!;
    assert.deepEqual([alone.state, scan['outcome'], scan['skipped_count']], ['failed', 'incomplete', 1]);
    assert.equal((scan['skipped'] as JsonObject[])[0]!['target'], '192.0.2.7');
  });

  it('creates each task once if its generator is interrupted and runs again', async () => {
    let calls = 0;
    const dying: Engine = Object.create(bench.engine) as Engine;
    dying.createNodes = async (creations) => {
      calls += 1;
      // Stored, but the generator never sees the confirmation.
      const results = await bench.engine.createNodes(creations);
      if (calls === 1) throw new Error('the connection is lost');
      return results;
    };
    await listeners.listen('127.20.3.77', 7300);
    const input = {
      target: 'twice',
      targets: ['127.20.3.0/24'],
      ports: '7290-7309',
      partition: { tasks_max: 5, parallelism: 5 },
    };
    const run = await runWorkflow(
      { ...bench, engine: dying },
      generator(input, { retry: { max_attempts: 2, backoff_secs: 0 } }),
    );
    assert.ok(calls >= 2, 'there were two attempts');
    assert.deepEqual([run.state, run.tasks], ['succeeded', 7]);
    assert.equal(
      scansOf(run).reduce((sum, { settled }) => sum + Number(settled), 0),
      256 * 20,
    );
    const merged = run.of('TcpSynAggregator')!;
    assert.deepEqual([merged['complete'], merged['new']], [true, 2]);
  });

  it('repeats an interrupted scan without duplicates', async () => {
    const books = modelsOf(bench.database);
    let died = 0;
    const dying: ModelBooks & typeof books = {
      ...books,
      putChunk: async (key, records) => {
        await books.putChunk(key, records);
        if (key.attempt === 1 && key.ordinal === 1) {
          died += 1;
          throw new Error('the process is killed');
        }
      },
    };
    const { kinds } = await newReconBench({ models: dying });
    await listeners.listen('127.20.4.1', 7450);
    const input = {
      target: 'killed',
      targets: ['127.20.4.1-127.20.4.2'],
      ports: '7000-7999',
      states: ['open', 'closed'],
      partition: { tasks_max: 1 },
    };
    const merging = bench.kinds.filter(({ name }) => name.endsWith('Aggregator'));
    const scanning = kinds.filter(({ name }) => !name.endsWith('Aggregator'));
    const run = await runWorkflow({ engine: bench.engine, kinds: [...scanning, ...merging] }, generator(input));
    assert.equal(died, 1);
    const [scan] = scansOf(run);
    assert.deepEqual([scan!['attempt'], scan!['record_count'], scan!['chunks']], [2, 2000, 4]);
    assert.equal((scan!['records'] as JsonObject[]).length, 100);
    const merged = run.of('TcpSynAggregator')!;
    assert.deepEqual([merged['complete'], merged['records'], merged['new']], [true, 2000, 3]);
    const [host] = await bench.models.list({ target: 'killed', model: 'host', key_prefix: '127.20.4.1' }, ALL);
    assert.equal(host!.runs, 1);
  });

  it('stops sending soon after its workflow is canceled', async () => {
    const port = await listeners.listen('0.0.0.0', 0);
    const stopping = startKinds(bench.engine, bench.kinds);
    try {
      listeners.connections.length = 0;
      const slow = { ...QUICK, rate: 400, target: 'canceled', targets: ['127.21.0.0/16'], ports: String(port) };
      const id = await submit(bench.engine, {
        mode: 'sequential',
        children: [{ kind: 'TcpSynGenerator', input: { ...slow, partition: { tasks_max: 4 } } }],
      });
      await eventually(() => listeners.connections.length > 40, 'the scan is under way');
      await bench.engine.cancelWorkflow(id);
      const before = listeners.connections.length;
      await ended(bench.engine, id);
      await eventually(() => performance.now() - listeners.connections.at(-1)! > 500, 'it is quiet');
      const more = listeners.connections.length - before;
      assert.ok(more < 20_000, `${more} of 65,536 connections came after the cancel`);
    } finally {
      await stopping.stop();
    }
  });

  it('targets the models that match an expression, page by page', async () => {
    await listeners.listen('127.20.6.1', 7601);
    await listeners.listen('127.20.6.2', 7602);
    await listeners.listen('127.20.6.3', 7603);
    const range = { target: 'known', targets: ['127.20.6.1-3'], ports: '7600-7609' };
    await runWorkflow(bench, generator(range));
    const where = 'data.port > 7601 && key.startsWith("127.20.6.") && changed_at <= now';
    const services = await runWorkflow(
      bench,
      generator({ target: 'again', from: { model: 'service', target: 'known', where }, ports: '1' }),
    );
    assert.equal(services.of('TcpSynAggregator')!['complete'], true);
    assert.deepEqual(await keysOf('again', 'service'), ['new 127.20.6.2:7602/tcp', 'new 127.20.6.3:7603/tcp']);
    const hosts = await runWorkflow(
      bench,
      generator({ target: 'again', from: { model: 'host', target: 'known' }, ports: '7601' }),
    );
    assert.equal(hosts.of('TcpSynAggregator')!['gone'], 4, 'it scanned 7601 only');
    const nothing = await runWorkflow(
      bench,
      generator({ target: 'none', from: { model: 'host', target: 'nobody' }, ports: '7601' }),
    );
    assert.deepEqual([nothing.state, nothing.of('TcpSynAggregator')!['complete']], ['succeeded', true]);
    const failing = await runWorkflow(
      bench,
      generator({ target: 'none', from: { model: 'host', target: 'known', where: 'data.nothing == 1' } }),
    );
    assert.equal(failing.state, 'failed');
  });

  it('creates tasks in the requested container, without an aggregator', async () => {
    await listeners.listen('127.20.7.1', 7701);
    const run = await runWorkflow(
      bench,
      {
        mode: 'parallel',
        children: [
          generator({ targets: ['127.20.7.1'], ports: '7700-7710', into: 'scans', aggregator: false }),
          { id: 'scans', mode: 'parallel', children: [] },
        ],
      },
      { kind: 'TcpSynAggregator', input: { target: 'apart' } },
    );
    assert.deepEqual([run.state, run.tasks], ['succeeded', 3]);
    assert.deepEqual(await keysOf('apart', 'service'), ['new 127.20.7.1:7701/tcp']);
    const lonely = await runWorkflow(bench, { kind: 'TcpSynAggregator', input: { target: 'apart' } });
    assert.equal(lonely.state, 'failed');
    assert.deepEqual(await keysOf('apart', 'service'), ['new 127.20.7.1:7701/tcp']);
  });

  it('follows names, and records them', async () => {
    const port = await listeners.listen('127.0.0.1', 0);
    const run = await runWorkflow(bench, generator({ target: 'names', targets: ['localhost'], ports: String(port) }));
    assert.equal(run.of('TcpSynAggregator')!['complete'], true);
    const [service] = await bench.models.list({ target: 'names', model: 'service' }, ALL);
    assert.deepEqual([service!.key, service!.data['names']], [`127.0.0.1:${port}/tcp`, ['localhost']]);
  });
});
