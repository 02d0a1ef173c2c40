import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { endpoints, type EndpointOptions, type Slice } from '../../src/targets/endpoints.ts';
import { partition } from '../../src/targets/partition.ts';
import type { EndpointSource } from '../../src/targets/port.ts';
import { parsePorts } from '../../src/targets/ports.ts';
import { createScope } from '../../src/targets/scope.ts';
import { parseTargets } from '../../src/targets/target-list.ts';

const scope = createScope(['example']);
const { signal } = new AbortController();

async function drain(source: EndpointSource, max = 7): Promise<string[]> {
  const all: string[] = [];
  for (let batch = await source.next(max, signal); batch.length > 0; batch = await source.next(max, signal)) {
    assert.ok(batch.length <= max);
    all.push(...batch.map(({ host, ip, port }) => (host === ip ? `${ip} ${port}` : `${host} ${ip} ${port}`)));
  }
  return all;
}

const source = (texts: readonly string[], options: Partial<EndpointOptions> = {}): EndpointSource =>
  endpoints({ targets: parseTargets(texts), ports: [80], seed: 1, scope, ...options });

const ascending = (list: readonly string[]): string[] => [...list].sort();

describe('order', () => {
  test('every host at every port once, in an order that the seed determines', async () => {
    const ports = [22, 80, 443];
    const all = await drain(source(['10.0.0.0/28', '10.9.0.1:8080', 'fd00::1'], { ports }));
    const expected = Array.from({ length: 16 }, (_, host) => ports.map((port) => `10.0.0.${host} ${port}`)).flat();
    assert.deepEqual(
      ascending(all),
      ascending([...expected, ...ports.map((port) => `fd00::1 ${port}`), '10.9.0.1 8080']),
    );
    const again = await drain(source(['10.0.0.0/28', '10.9.0.1:8080', 'fd00::1'], { ports }), 1000);
    assert.deepEqual(again, all, 'the batch size does not matter');
    const other = await drain(source(['10.0.0.0/28', '10.9.0.1:8080', 'fd00::1'], { ports, seed: 2 }));
    assert.notDeepEqual(other, all);
  });

  test('a host with a port that is probed anyway occurs once', async () => {
    const all = await drain(source(['10.0.0.1', '10.0.0.1:80', '10.0.0.1:81'], { ports: [80, 443] }));
    assert.deepEqual(ascending(all), ['10.0.0.1 443', '10.0.0.1 80', '10.0.0.1 81']);
  });
});

describe('slices', () => {
  const arrangement = fc.record({
    hosts: fc.integer({ min: 1, max: 40 }),
    pinned: fc.nat(6),
    ports: fc.integer({ min: 1, max: 12 }),
    seed: fc.nat(),
    hostCuts: fc.array(fc.nat(46), { maxLength: 4 }),
    portCuts: fc.array(fc.nat(12), { maxLength: 3 }),
  });
  const slicesOf = (cuts: readonly number[], size: number): Slice[] => {
    const edges = [0, ...cuts.map((cut) => Math.min(cut, size)), size].sort((left, right) => left - right);
    return edges.slice(1).map((edge, index) => ({ from: edges[index]!, count: edge - edges[index]! }));
  };
  const textsOf = (hosts: number, pinned: number): string[] => [
    `10.0.0.1-${hosts}`,
    ...Array.from({ length: pinned }, (_, index) => `10.1.0.${index}:${1000 + index}`),
  ];

  test('every endpoint is in exactly one slice, however hosts and ports are cut', async () => {
    await fc.assert(
      fc.asyncProperty(arrangement, async ({ hosts, pinned, ports: count, seed, hostCuts, portCuts }) => {
        const texts = textsOf(hosts, pinned);
        const ports = Array.from({ length: count }, (_, index) => index + 1);
        const whole = await drain(source(texts, { ports, seed }), 1000);
        const parts: string[] = [];
        let size = 0;
        for (const slice of slicesOf(hostCuts, hosts + pinned)) {
          for (const port_slice of slicesOf(portCuts, count)) {
            // Of two slices that begin at the first port, only one may be nonempty.
            if (port_slice.count === 0) continue;
            const part = source(texts, { ports, seed, slice, port_slice });
            size += part.size;
            parts.push(...(await drain(part, 1000)));
          }
        }
        assert.equal(whole.length, hosts * count + pinned);
        assert.equal(size, whole.length);
        assert.deepEqual(ascending(parts), ascending(whole));
      }),
      { numRuns: 150 },
    );
  });

  test('parts of about equal size contain every endpoint once, and no host twice', async () => {
    await fc.assert(
      fc.asyncProperty(arrangement, fc.integer({ min: 1, max: 9 }), async (given, wanted) => {
        const { hosts, pinned, ports: count, seed } = given;
        const texts = textsOf(hosts, pinned);
        const ports = Array.from({ length: count }, (_, index) => index + 1);
        const parts = partition(parseTargets(texts), count, wanted);
        assert.ok(parts.length >= 1 && parts.length <= wanted);
        const lists = await Promise.all(parts.map((part) => drain(source(texts, { ports, seed, ...part }), 1000)));
        assert.deepEqual(ascending(lists.flat()), ascending(await drain(source(texts, { ports, seed }), 1000)));
        const share = (hosts * count + pinned) / wanted;
        for (const list of lists) assert.ok(list.length <= share + count + 1, `${list.length} of a share of ${share}`);
        if (hosts + pinned === 1) return;
        const seen = lists.map((list) => new Set(list.map((text) => text.split(' ')[0]!)));
        assert.equal(
          new Set(seen.flatMap((set) => [...set])).size,
          seen.reduce((sum, set) => sum + set.size, 0),
        );
      }),
      { numRuns: 100 },
    );
  });

  test('a single host is divided by ports; small scans are not divided', () => {
    assert.deepEqual(partition(parseTargets(['127.0.0.1']), 10, 2), [
      { slice: { from: 0, count: 1 }, port_slice: { from: 0, count: 5 } },
      { slice: { from: 0, count: 1 }, port_slice: { from: 5, count: 5 } },
    ]);
    assert.equal(partition(parseTargets(['10.0.0.0/24']), 10, 64, 1000).length, 3);
    assert.equal(partition(parseTargets(['10.0.0.0/8']), 65_535, 1000).length, 1000);
    assert.deepEqual(partition(parseTargets([]), 10, 4), []);
  });

  test('a slice out of range is a defect', () => {
    assert.throws(
      () => source(['10.0.0.0/30'], { slice: { from: 3, count: 2 } }),
      /slice \{ from: 3, count: 2 \} is not within 4/,
    );
    assert.throws(() => source(['10.0.0.1'], { port_slice: { from: -1, count: 1 } }), RangeError);
  });
});

describe('names', () => {
  test('are resolved once, whatever the number of ports; all ports use the same address', async () => {
    const asked: string[] = [];
    const resolve = (name: string): Promise<string[]> => {
      asked.push(name);
      return Promise.resolve([`10.0.0.${asked.length}`, '10.9.9.9']);
    };
    const all = await drain(source(['a.example', 'b.example', 'b.example:8080'], { ports: [1, 2, 3], resolve }));
    assert.deepEqual(ascending(asked), ['a.example', 'b.example']);
    assert.equal(all.length, 7);
    assert.equal(new Set(all.map((text) => text.split(' ').slice(0, 2).join(' '))).size, 2);
  });

  test('at all addresses: the allowed ones, at most sixteen, in batches no larger than requested', async () => {
    const answers: Record<string, string[]> = {
      'two.example': ['10.0.0.1', '169.254.169.254', 'fd00::1', '10.0.0.66'],
      'many.example': Array.from({ length: 100 }, (_, index) => `10.1.0.${index}`),
      'none.example': [],
    };
    const options = { ports: [1, 2], allAddresses: true, resolve: (name: string) => Promise.resolve(answers[name]!) };
    const names = ['two.example', 'many.example', 'none.example', 'two.example:9'];
    const targets = parseTargets(names, { exclude: ['10.0.0.66'] });
    const found = await drain(source([], { ...options, targets }), 3);
    const two = (port: number): string[] => [`two.example 10.0.0.1 ${port}`, `two.example fd00::1 ${port}`];
    assert.deepEqual(
      ascending(found.filter((text) => text.startsWith('two'))),
      ascending([...two(1), ...two(2), ...two(9)]),
    );
    assert.equal(found.length, 6 + 2 * 16);
  });

  test('unresolvable, excluded and out-of-scope names are skipped and each reported once', async () => {
    const answers: Record<string, string[] | Error> = {
      'none.example': [],
      'silent.example': new Error('no resolver answered'),
      'special.example': ['169.254.169.254'],
      'excluded.example': ['10.6.6.6'],
      'second.example': ['10.6.6.6', '10.0.0.2'],
      'good.example': ['10.0.0.1'],
    };
    const told: string[] = [];
    const targets = parseTargets([...Object.keys(answers), 'other.test', '8.8.8.8'], { exclude: ['10.6.6.6'] });
    const all = await drain(
      endpoints({
        targets,
        ports: [1, 2],
        seed: 3,
        scope,
        resolve: (name) => {
          const answer = answers[name]!;
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
        },
        onRefused: (host, reason) => told.push(`refused ${host}: ${reason}`),
        onUnresolved: (name, reason) => told.push(`unresolved ${name}: ${reason}`),
      }),
    );
    assert.deepEqual(ascending(all), [
      'good.example 10.0.0.1 1',
      'good.example 10.0.0.1 2',
      'second.example 10.0.0.2 1',
      'second.example 10.0.0.2 2',
    ]);
    const lines = ascending(told);
    assert.equal(lines.length, 6);
    assert.match(lines[0]!, /^refused 8\.8\.8\.8: no entry of the scope covers 8\.8\.8\.8/);
    assert.match(lines[1]!, /^refused other\.test: no entry of the scope covers other\.test/);
    assert.match(lines[2]!, /^refused special\.example: special\.example resolves to 169\.254\.169\.254: .* metadata/);
    assert.deepEqual(lines.slice(3), [
      'unresolved excluded.example: all of its addresses are excluded',
      'unresolved none.example: has no address',
      'unresolved silent.example: could not be looked up: no resolver answered',
    ]);
  });

  test('at most 64 are resolved concurrently', async () => {
    let [now, most] = [0, 0];
    const resolve = async (): Promise<string[]> => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((done) => setImmediate(done));
      now -= 1;
      return ['10.0.0.1'];
    };
    const names = Array.from({ length: 300 }, (_, index) => `n${index}.example`);
    assert.equal((await drain(source(names, { resolve }), 1000)).length, 300);
    assert.equal(most, 64);
  });

  test('a signal ends a batch that waits for names', async () => {
    const abort = new AbortController();
    const resolve = (_name: string, ended: AbortSignal): Promise<string[]> =>
      new Promise((done) => ended.addEventListener('abort', () => done([])));
    const batch = source(['a.example'], { resolve }).next(10, abort.signal);
    abort.abort();
    assert.deepEqual(await batch, []);
  });
});

describe('size', () => {
  test('a /8 with all ports costs no memory; more than 2^53 endpoints are rejected', async () => {
    const ports = parsePorts('all');
    const before = process.memoryUsage().heapUsed;
    const large = source(['10.0.0.0/8'], { ports });
    assert.equal(large.size, 2 ** 24 * 65_535);
    for (let batch = 0; batch < 10; batch += 1) assert.equal((await large.next(512, signal)).length, 512);
    assert.ok(process.memoryUsage().heapUsed - before < 16_000_000);
    assert.throws(() => source(['fd00::/80'], { ports }), /endpoints are more than the 2\^53 that can be counted/);
  });

  test('targets that are all skipped end, and yield to the event loop', async () => {
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns < 1000) setImmediate(count);
    };
    setImmediate(count);
    const refused: string[] = [];
    const all = await drain(
      source(['8.0.0.0/13'], { scope: createScope([]), onRefused: (host) => refused.push(host) }),
    );
    assert.deepEqual(all, []);
    assert.equal(refused.length, 10_000, 'reports are limited');
    assert.ok(turns >= 5, `${turns} turns`);
  });
});
