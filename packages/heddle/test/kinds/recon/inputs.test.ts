/** The inputs of generators and scans, and the division of scans, without a database or a network. */
import assert from 'node:assert/strict';
import { getServers } from 'node:dns';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import type { KindDefinition } from '@heddle/kit';
import { endpointParts, partsOf, wordParts } from '../../../src/kinds/recon/parts.ts';
import { ReconPolicy } from '../../../src/kinds/recon/policy.ts';
import { scanningKinds } from '../../../src/kinds/recon/recon-kinds.ts';
import { endpoints } from '@heddle/recon/targets/endpoints';
import { createScope } from '@heddle/recon/targets/scope';
import { parseTargets } from '@heddle/recon/targets/target-list';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';

const policy = new ReconPolicy({ scope: [], rate: 1000, clock: systemClock });
const kinds = scanningKinds({ policy, models: null, clock: systemClock, random: systemRandom, concurrency: 1 });

async function faultsOf(kind: string, input: JsonObject): Promise<string[]> {
  const { schema } = kinds.find(({ name }) => name === kind) as KindDefinition;
  const result = await schema!['~standard'].validate(input);
  return (result.issues ?? []).map(({ message, path }) => `${path?.map(String).join('.') ?? ''}: ${message}`);
}

describe('the inputs of recon kinds', () => {
  it('report all their faults at once, each with its position', async () => {
    const faults = await faultsOf('TcpSynGenerator', {
      targets: ['10.0.0.1', '10.0.0.300', 'ok.example', '10.0.0.0/33'],
      ports: '80,x-9',
      scope: ['10.0.0.5/24'],
      method: 'sym',
      partition: { tasks_max: 2000 },
      rates: 5,
    });
    const places = faults.map((fault) => fault.split(':')[0]);
    for (const place of [
      'rates',
      'scope[0]',
      'targets[1]',
      'targets[3]',
      'ports',
      'method',
      'partition.tasks_max',
      'target',
    ]) {
      assert.ok(places.includes(place), `${place} is not among ${faults.join('\n')}`);
    }
    assert.match(
      faults.find((fault) => fault.startsWith('method'))!,
      /did you mean "syn"\?/,
    );
  });

  it('require targets or models, a name for the models, and valid expressions', async () => {
    const none = await faultsOf('TlsScanGenerator', { target: 'x' });
    assert.deepEqual(none, ['targets: exactly one of `targets` and `from` is required']);
    assert.deepEqual(await faultsOf('TlsScanGenerator', { targets: ['127.0.0.1'], aggregator: false }), []);
    assert.deepEqual(await faultsOf('DnsScanGenerator', { target: 'x', targets: [] }), [
      'targets: must name at least one target',
    ]);
    const [where] = await faultsOf('DnsScanGenerator', { target: 'x', from: { model: 'host', where: 'dta.port > 1' } });
    assert.match(where!, /^from\.where: .*did you mean "data"/);
    const [member] = await faultsOf('DnsScanGenerator', { target: 'x', from: { model: 'host', where: 'port > 1' } });
    assert.match(member!, /^from\.where: "port" is not known here; write item\.data\.port \(character 1/);
    for (const where of ['data.port > 1', 'item.data.port > params.above', 'timestamp(item.last_seen) < now']) {
      const from = { model: 'host', where, params: { above: 1 } };
      assert.deepEqual(await faultsOf('DnsScanGenerator', { target: 'x', from }), [], where);
    }
    const [model] = await faultsOf('DnsScanGenerator', { target: 'x', from: { model: 'a b' } });
    assert.match(model!, /^from\.model: must be 1 to 100 of the characters/);
    const [types] = await faultsOf('DnsScan', { targets: ['a.example'], types: ['A', 'ANY'] });
    assert.match(types!, /^types: must contain only A, AAAA, .*, not ANY$/);
    const [both] = await faultsOf('TcpSyn', { targets: ['127.0.0.1'], endpoints: ['127.0.0.1:1'] });
    assert.match(both!, /^targets: exactly one of `targets` and `endpoints` is required/);
    const [endpoint] = await faultsOf('TlsScan', { endpoints: ['127.0.0.1:443', 'example.com'] });
    assert.match(endpoint!, /^endpoints: \[1\] must be ADDRESS:PORT, or NAME@ADDRESS:PORT/);
  });
});

/** Returns what the parts of a scan cover, as `host ip port`. */
async function lookedAt(parts: JsonObject[], ports: number[]): Promise<string[]> {
  const seen: string[] = [];
  for (const part of parts) {
    const { targets, slice, port_slice, seed } = part as unknown as {
      targets: string[];
      slice?: { from: number; count: number };
      port_slice?: { from: number; count: number };
      seed: number;
    };
    const source = endpoints({
      targets: parseTargets(targets),
      ports,
      seed,
      scope: createScope(),
      resolve: () => Promise.resolve(['127.0.0.1']),
      ...(slice === undefined ? {} : { slice }),
      ...(port_slice === undefined ? {} : { port_slice }),
    });
    for (;;) {
      const batch = await source.next(1000, new AbortController().signal);
      if (batch.length === 0) break;
      seen.push(...batch.map(({ host, port }) => `${host} ${port}`));
    }
  }
  return seen;
}

describe('the parts of a scan', () => {
  it('cover each endpoint once, whether their targets are described or listed', async () => {
    const ports = [80, 443, 8080];
    const described = parseTargets(['10.0.0.0/22', 'a.localhost', '10.9.9.9:22'], { exclude: ['10.0.1.0/24'] });
    const few = partsOf({ targets: described, ports: 3, tasks_max: 3, seed: 7 });
    assert.equal(few.length, 3);
    const seen = await lookedAt(few, ports);
    assert.deepEqual([seen.length, new Set(seen).size], [769 * 3 + 1, 769 * 3 + 1]);
    // Every other address: too long to describe.
    const texts = Array.from({ length: 6000 }, (_, n) => `10.${n >> 7}.${(n >> 1) & 63}.${(n * 2) & 254}`);
    const written = parseTargets(texts);
    const parts = partsOf({ targets: written, ports: 3, tasks_max: 64, seed: 7 });
    for (const part of parts) assert.ok(JSON.stringify(part).length < 48 * 1024);
    const all = await lookedAt(parts, ports);
    assert.deepEqual([all.length, new Set(all).size], [written.size * 3, written.size * 3]);
    assert.deepEqual(partsOf({ targets: written, ports: 3, tasks_max: 64, seed: 7 }), parts, 'deterministic');
    assert.throws(() => partsOf({ targets: written, ports: 3, tasks_max: 1, seed: 7 }), /raise partition\.tasks_max/);
  });

  it('of one host are its ports; a small scan is one part; no targets yield none', () => {
    const one = parseTargets(['10.0.0.1']);
    assert.equal(partsOf({ targets: one, ports: 65_535, tasks_max: 8, seed: 1 }).length, 8);
    assert.deepEqual(partsOf({ targets: one, ports: 100, tasks_max: 8, seed: 1 }), [
      { targets: ['10.0.0.1'], seed: 1 },
    ]);
    assert.deepEqual(partsOf({ targets: parseTargets([]), ports: 100, tasks_max: 8, seed: 1 }), []);
    const eight = parseTargets(['10.0.0.0/8']);
    assert.equal(partsOf({ targets: eight, ports: 65_535, tasks_max: 1000, seed: 1 }).length, 1000);
  });

  it('keep the endpoints of one address together, and words within inputs', () => {
    const known = Array.from({ length: 3000 }, (_, n) => ({
      host: `h${n}`,
      ip: `10.0.${n >> 8}.${(n >> 2) & 63}`,
      port: n,
    }));
    const parts = endpointParts(known, { tasks_max: 64, seed: 3 }) as { endpoints: string[] }[];
    const partOf = new Map<string, number>();
    for (const [index, part] of parts.entries()) {
      for (const text of part.endpoints) {
        const ip = text.slice(text.indexOf('@') + 1, text.lastIndexOf(':'));
        assert.equal(partOf.get(ip) ?? index, index, `${ip} is in two parts`);
        partOf.set(ip, index);
      }
    }
    assert.equal(parts.flatMap((part) => part.endpoints).length, 3000);
    const words = Array.from({ length: 20_000 }, (_, n) => `word-${n}`);
    const worded = wordParts(parseTargets(['a.test', '10.0.0.1']), words, { tasks_max: 64, seed: 3 });
    assert.deepEqual(
      worded.flatMap((part) => part['words'] as string[]),
      words,
    );
    for (const part of worded) assert.deepEqual(part['targets'], ['10.0.0.1', 'a.test']);
  });
});

describe("the operator's rate", () => {
  it('limits all tasks of a process together, and each of them', async () => {
    const clock = new VirtualClock();
    const bounded = new ReconPolicy({ scope: [], rate: 100, clock });
    const paces = [0, 1, 2].map(() => bounded.paceOf({ rate: 1_000_000, host_rate: 1_000_000 }));
    assert.equal(paces[0]!.rate, 100);
    let sent = 0;
    for (let ms = 0; ms < 2000; ms += 5) {
      for (const pace of paces) while (pace.take('10.0.0.1') === 0) sent += 1;
      await clock.advance(5);
    }
    assert.ok(sent >= 190 && sent <= 203, `${sent} in two seconds`);
  });

  it('queries no resolver of a task that its scope does not cover', () => {
    const operator = new ReconPolicy({ scope: ['192.0.2.53'], rate: 1, clock: systemClock });
    const asking = (...resolvers: string[]) => operator.scopeOf({ scope: ['198.51.100.0/24'], resolvers });
    assert.doesNotThrow(() => asking('192.0.2.53:5353', '127.0.0.1', '[::1]:53', '10.0.0.53', ...getServers()));
    const widened = { name: 'HeddleError', message: /resolvers: 198\.51\.100\.53 is .*; only an entry/ };
    assert.throws(() => asking('198.51.100.53'), widened);
    assert.throws(() => asking('[::ffff:169.254.169.254]:53'), /resolvers: /);
  });

  it('lets a task narrow the scope, and never widen it', () => {
    const operator = new ReconPolicy({ scope: ['192.0.2.0/24'], rate: 1, clock: systemClock });
    const own = operator.scopeOf({ scope: ['192.0.2.7', '198.51.100.1', '10.0.0.1'], resolvers: [] });
    const verdicts = ['192.0.2.7', '192.0.2.8', '198.51.100.1', '10.0.0.1', '10.0.0.2'].map(
      (ip) => own.check(ip, null).allowed,
    );
    assert.deepEqual(verdicts, [true, false, false, true, false]);
  });
});
