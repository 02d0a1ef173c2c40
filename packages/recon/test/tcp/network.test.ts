import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { PortRecord } from '../../src/records.ts';
import { openSyn } from '../../src/tcp/syn/open-syn.ts';
import { systemRandom } from '@heddle/base/random';
import {
  missingForFilters,
  missingForNamespaces,
  NetworkPair,
  TARGET_IPV4,
  TARGET_IPV6,
} from '@heddle/test-support/network-namespace';
import { firstLine, portsBetween, portsIn, scanElsewhere, startListeners } from '../support/tcp/scan-fixture.ts';

const access = await openSyn(systemRandom);
const missingNetwork = missingForNamespaces();
const missing = missingNetwork ?? (access.available ? null : access.missing);
const skip = missing === null ? false : `no network of its own with SYN packets: ${missing}`;
const noFilter = skip === false ? missingForFilters() : missing;
const skipFiltered = noFilter === null ? false : `no packet filter in a network of its own: ${noFilter}`;
for (const reason of new Set([skip, skipFiltered])) if (reason !== false) console.log(reason);

function reasonsOf(records: readonly PortRecord[], where: (record: PortRecord) => boolean): Set<string> {
  return new Set(records.filter(where).map(({ state, reason }) => `${state} ${reason}`));
}

describe('scans through a network', { skip }, () => {
  it('distinguish open, closed, silent and unreachable ports', async () => {
    await using pair = NetworkPair.create();
    const open = portsBetween(1000, 1099);
    await using _four = await startListeners({ ip: TARGET_IPV4, ports: open }, pair.within(pair.target));
    await using _six = await startListeners({ ip: TARGET_IPV6, ports: open }, pair.within(pair.target));
    pair.ip(pair.scanner, 'route', 'add', 'default', 'via', TARGET_IPV4);
    pair.set(pair.target, 'net.ipv4.ip_forward', '1');
    pair.set(pair.target, 'net.ipv4.icmp_ratelimit', '0');
    pair.ip(pair.target, 'route', 'add', 'blackhole', '10.78.1.1');
    pair.ip(pair.target, 'route', 'add', 'unreachable', '10.78.1.2');
    pair.ip(pair.target, 'route', 'add', 'prohibit', '10.78.1.3');
    const ports = portsBetween(1000, 1199);
    const silent = ['10.78.1.1', '10.78.1.2', '10.78.1.3'].map((ip) => ({ ip, ports: [80, 443] }));
    const targets = [{ ip: TARGET_IPV4, ports }, { ip: TARGET_IPV6, ports }, ...silent];
    const options = { method: 'syn', timeoutMs: 200, retries: 2 } as const;
    const { records } = await scanElsewhere({ targets, options }, pair.within(pair.scanner));
    assert.equal(records.length, 2 * ports.length + 6);
    for (const ip of [TARGET_IPV4, TARGET_IPV6]) {
      const of = records.filter((record) => record.ip === ip);
      assert.deepEqual(portsIn(of, 'open'), open, ip);
      assert.deepEqual(portsIn(of, 'closed'), portsBetween(1100, 1199), ip);
    }
    const by = (ip: string): Set<string> => reasonsOf(records, (record) => record.ip === ip);
    assert.deepEqual(by('10.78.1.1'), new Set(['filtered no-response']));
    assert.deepEqual(by('10.78.1.2'), new Set(['filtered icmp-host-unreachable']));
    assert.deepEqual(by('10.78.1.3'), new Set(['filtered icmp-admin-prohibited']));
  });

  it('report missing routes, and never as closed', async () => {
    await using pair = NetworkPair.create();
    for (const method of ['syn', 'connect'] as const) {
      const targets = [
        { ip: '10.99.0.1', ports: [80] },
        { ip: TARGET_IPV4, ports: [80] },
      ];
      const options = { method, timeoutMs: 300, retries: 1 };
      const { records, notices } = await scanElsewhere({ targets, options }, pair.within(pair.scanner));
      const by = (ip: string): Set<string> => reasonsOf(records, (record) => record.ip === ip);
      assert.deepEqual(by('10.99.0.1'), new Set(['filtered net-unreachable']), method);
      assert.equal([...by(TARGET_IPV4)][0]?.split(' ')[0], 'closed', method);
      assert.match(notices.join('\n'), /no route/, method);
    }
  });

  it('accept an answer only if it acknowledges the probe, and once', async () => {
    await using pair = NetworkPair.create();
    pair.ip(pair.scanner, 'route', 'add', '10.79.0.0/24', 'via', TARGET_IPV4);
    const forger = pair.spawn(pair.target, [
      process.execPath,
      new URL('../support/tcp/forge-process.ts', import.meta.url).pathname,
    ]);
    assert.equal(await firstLine(forger), 'listening');
    const targets = [1, 2, 3, 4, 5, 6, 7].map((last) => ({ ip: `10.79.0.${last}`, ports: [7000] }));
    const options = { method: 'syn', timeoutMs: 400, retries: 3 } as const;
    const { records } = await scanElsewhere({ targets, options }, pair.within(pair.scanner));
    const states = Object.fromEntries(records.map(({ ip, state }) => [ip.slice(-1), state]));
    assert.equal(records.length, targets.length);
    assert.deepEqual(states, {
      1: 'open',
      2: 'filtered',
      3: 'open',
      4: 'filtered',
      5: 'filtered',
      6: 'filtered',
      7: 'open',
    });
    const late = records.find(({ ip }) => ip.endsWith('.7'))!;
    assert.ok(late.rtt_ms! < 400, 'the time is that of the answered attempt');
  });

  it('by connections back off at the limit of open files, report it, and miss nothing', async () => {
    await using pair = NetworkPair.create();
    pair.ip(pair.scanner, 'route', 'add', '10.78.1.1', 'via', TARGET_IPV4);
    const open = portsBetween(1000, 1099);
    await using _listeners = await startListeners({ ip: TARGET_IPV4, ports: open }, pair.within(pair.target));
    const targets = [
      { ip: '10.78.1.1', ports: portsBetween(1, 200) },
      { ip: TARGET_IPV4, ports: portsBetween(1000, 1199) },
    ];
    const limited = [...pair.within(pair.scanner), 'sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'];
    const options = { concurrency: 500, timeoutMs: 200, retries: 1 };
    const { records, notices } = await scanElsewhere({ targets, options }, limited);
    assert.equal(records.length, 400);
    assert.deepEqual(portsIn(records, 'open'), open);
    assert.deepEqual(portsIn(records, 'closed'), portsBetween(1100, 1199));
    assert.deepEqual(
      reasonsOf(records, ({ state }) => state === 'filtered'),
      new Set(['filtered no-response']),
    );
    assert.match(notices.join('\n'), /limit of open files/);
  });

  it('report connections to themselves as closed', async () => {
    await using pair = NetworkPair.create();
    pair.set(pair.scanner, 'net.ipv4.ip_local_port_range', '40000 40003');
    const targets = [{ ip: '127.0.0.1', ports: Array.from({ length: 40 }, () => portsBetween(40_000, 40_003)).flat() }];
    const { records } = await scanElsewhere({ targets, options: { concurrency: 4 } }, pair.within(pair.scanner));
    assert.equal(records.length, 160);
    const reasons = reasonsOf(records, () => true);
    assert.ok(reasons.has('closed self-connect'), 'some did');
    assert.deepEqual(portsIn(records, 'open'), []);
    assert.deepEqual(portsIn(records, 'filtered'), []);
  });
});

describe('scans through a packet filter', { skip: skipFiltered }, () => {
  const RULES = [
    'tcp dport 2000-2099 drop',
    'tcp dport 2100-2199 reject',
    'tcp dport 2200-2299 reject with tcp reset',
    'tcp dport 2300-2399 reject with icmpx admin-prohibited',
  ];

  it('distinguish drop from reject, by both methods', async () => {
    await using pair = NetworkPair.create();
    pair.filter(pair.target, 'input', RULES);
    pair.set(pair.target, 'net.ipv4.icmp_ratelimit', '0');
    pair.set(pair.target, 'net.ipv6.icmp.ratelimit', '0');
    const ports = portsBetween(2000, 2399);
    const within = (first: number) => (record: PortRecord) => record.port >= first && record.port < first + 100;
    for (const ip of [TARGET_IPV4, TARGET_IPV6]) {
      await using _listeners = await startListeners({ ip, ports: portsBetween(2050, 2350) }, pair.within(pair.target));
      for (const method of ['syn', 'connect'] as const) {
        const options = { method, timeoutMs: 300, retries: 1 };
        // Hosts report rejected packets by ICMP at a limited rate.
        const request = { targets: [{ ip, ports }], options, rate: 500 };
        const { records } = await scanElsewhere(request, pair.within(pair.scanner));
        const syn = method === 'syn';
        assert.equal(records.length, ports.length);
        assert.deepEqual(reasonsOf(records, within(2000)), new Set(['filtered no-response']), `${method} ${ip}`);
        assert.deepEqual(
          reasonsOf(records, within(2200)),
          new Set([syn ? 'closed rst' : 'closed refused']),
          `${method} ${ip}`,
        );
        // Connections see ICMP as error codes, some of which are ambiguous.
        if (!syn) continue;
        assert.deepEqual(reasonsOf(records, within(2100)), new Set(['filtered icmp-port-unreachable']), ip);
        assert.deepEqual(reasonsOf(records, within(2300)), new Set(['filtered icmp-admin-prohibited']), ip);
      }
    }
  });

  it('find everything under one percent of loss in each direction', async () => {
    await using pair = NetworkPair.create();
    for (const name of [pair.scanner, pair.target])
      pair.filter(name, 'input', ['meta l4proto tcp numgen random mod 100 lt 1 drop']);
    const open = portsBetween(3000, 3499);
    await using _listeners = await startListeners({ ip: TARGET_IPV4, ports: open }, pair.within(pair.target));
    const ports = portsBetween(3000, 12_999);
    const options = { method: 'syn', timeoutMs: 200, retries: 3 } as const;
    const { records, sent } = await scanElsewhere(
      { targets: [{ ip: TARGET_IPV4, ports }], options },
      pair.within(pair.scanner),
    );
    assert.equal(records.length, ports.length);
    assert.deepEqual(portsIn(records, 'open'), open);
    assert.deepEqual(portsIn(records, 'filtered'), []);
    assert.ok(sent > ports.length * 1.01 && sent < ports.length * 1.06, `${sent} packets for ${ports.length} ports`);
  });

  it('report that this machine blocks packets, and never as closed', async () => {
    await using pair = NetworkPair.create();
    pair.filter(pair.scanner, 'output', ['tcp dport 4000-4009 drop']);
    for (const method of ['syn', 'connect'] as const) {
      const targets = [{ ip: TARGET_IPV4, ports: portsBetween(4000, 4019) }];
      const options = { method, timeoutMs: 300, retries: 0 };
      const { records, notices } = await scanElsewhere({ targets, options }, pair.within(pair.scanner));
      assert.deepEqual(portsIn(records, 'closed'), portsBetween(4010, 4019), method);
      assert.deepEqual(portsIn(records, 'filtered'), portsBetween(4000, 4009), method);
      if (method === 'syn') assert.match(notices.join('\n'), /packet filter on this machine/);
    }
  });
});
