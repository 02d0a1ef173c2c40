/** Timeouts of SYN packets on a virtual clock: a simulated network without any packets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TcpOptions } from '../../src/options.ts';
import type { PortRecord } from '../../src/records.ts';
import { addressWords } from '../../src/tcp/address-words.ts';
import { PortReport } from '../../src/tcp/port-report.ts';
import { RecordQueue } from '../../src/tcp/record-queue.ts';
import { SynScan, type SynWire } from '../../src/tcp/syn/syn-scan.ts';
import type { Answer } from '../../src/tcp/syn/wire.ts';
import type { Endpoint } from '../../src/targets/port.ts';
import { createPace } from '../../src/targets/pace.ts';
import { VirtualClock } from '@heddle/base/clock';
import { endpointsOf, environmentOf, tcpOptions } from '../support/tcp/scan-fixture.ts';

const PORT = 80;

interface Packet {
  ip: string;
  sentAt: number;
  answer: Answer;
}

/** Answers each packet with a RST after the latency of its host, or never. */
class MadeUpNetwork implements SynWire {
  readonly clock = new VirtualClock();
  readonly sent: Packet[] = [];
  readonly full = false;
  readonly #rttMs: Readonly<Record<string, number | undefined>>;
  readonly #ipOf = new Map<string, string>();
  #under: Packet[] = [];
  #queued: Packet[] = [];

  constructor(rttMs: Readonly<Record<string, number | undefined>>) {
    this.#rttMs = rttMs;
  }

  get queued(): number {
    return this.#queued.length;
  }

  know({ ip, family }: Endpoint): void {
    const words = new Uint32Array(4);
    addressWords(ip, family, words, 0);
    this.#ipOf.set(words.join(), ip);
  }

  put(_slot: number, words: Uint32Array, at: number, probe: { port: number; attempt: number; sequence: number }): true {
    const target = words.slice(at, at + 4);
    const { port, attempt, sequence } = probe;
    const answer: Answer = { words: target, port, attempt, sequence, type: 'rst', code: 0 };
    this.#queued.push({ ip: this.#ipOf.get(target.join())!, sentAt: this.clock.monotonic(), answer });
    return true;
  }

  flush(): number {
    const packets = this.#queued;
    this.#queued = [];
    this.sent.push(...packets);
    this.#under.push(...packets.filter(({ ip }) => this.#rttMs[ip] !== undefined));
    return packets.length;
  }

  receive(take: (answer: Answer) => void): boolean {
    const isDue = ({ ip, sentAt }: Packet): boolean => sentAt + this.#rttMs[ip]! <= this.clock.monotonic();
    const due = this.#under.filter(isDue);
    this.#under = this.#under.filter((packet) => !isDue(packet));
    for (const { answer } of due) take(answer);
    return false;
  }

  close(): void {
    // All ports are closed.
  }
}

/** Scans one batch of hosts every 200 ms; returns the results, and the send times of each host. */
async function scan(network: MadeUpNetwork, batches: readonly (readonly string[])[], changes: Partial<TcpOptions>) {
  const { clock } = network;
  const waiting = batches.map((ips) => ips.flatMap((ip) => endpointsOf(ip, [PORT])));
  for (const endpoint of waiting.flat()) network.know(endpoint);
  const size = waiting.flat().length;
  let first = true;
  const endpoints = {
    size,
    next: async (): Promise<readonly Endpoint[]> => {
      if (!first) await clock.sleep(200);
      first = false;
      return waiting.shift() ?? [];
    },
  };
  const environment = environmentOf({ clock, pace: createPace({ clock, rate: Infinity, hostRate: Infinity }) });
  const options = tcpOptions([], { method: 'syn', ...changes, endpoints });
  const queue = new RecordQueue<PortRecord>(size + 1);
  const report = new PortReport(environment, queue, { states: options.states, total: size });
  const { signal } = environment;
  let done = false;
  const running = new SynScan({ options, environment, signal, report, openWire: () => network }).run();
  void running.finally(() => (done = true));
  while (!done) await clock.advance(1);
  await running;
  queue.end();
  const records = new Map<string, PortRecord>();
  for await (const record of queue.read()) records.set(record.ip, record);
  return {
    records,
    endedAt: clock.monotonic(),
    /** The times between successive attempts. */
    gaps: (ip: string): number[] => {
      const times = network.sent.filter((packet) => packet.ip === ip).map(({ sentAt }) => Math.round(sentAt));
      return times.slice(1).map((time, index) => time - times[index]!);
    },
  };
}

/** Turns of the loop are a millisecond apart. */
function assertAbout(gaps: readonly number[], expected: readonly number[]): void {
  assert.equal(gaps.length, expected.length, String(gaps));
  for (const [index, gap] of gaps.entries()) assert.ok(Math.abs(gap - expected[index]!) <= 3, String(gaps));
}

test('a silent port in a fast network is retried soon, each time after twice as long', async () => {
  for (const [near, silent, far] of [
    ['10.5.0.1', '10.5.0.2', '10.6.0.2'],
    ['fd00:5::1', 'fd00:5:0:9::2', 'fd00:6::2'],
  ] as const) {
    const network = new MadeUpNetwork({ [near]: 20 });
    const { records, gaps } = await scan(network, [[near], [silent, far]], { retries: 3, timeoutMs: 1000 });
    assertAbout(gaps(silent), [125, 250, 500]);
    assertAbout(gaps(far), [1000, 1000, 1000]);
    assert.equal(records.get(near)?.state, 'closed');
    assert.deepEqual(
      [silent, far].map((ip) => records.get(ip)?.reason),
      ['no-response', 'no-response'],
    );
  }
});

test('a slow host among fast ones is not missed, with its latency; the last attempt waits in full', async () => {
  const network = new MadeUpNetwork({ '10.5.0.1': 20, '10.5.0.3': 900, '10.5.0.4': 990 });
  for (const retries of [0, 1, 3]) {
    network.sent.length = 0;
    const { records } = await scan(network, [['10.5.0.1'], ['10.5.0.3', '10.5.0.4']], { retries, timeoutMs: 1000 });
    for (const [ip, rttMs] of [
      ['10.5.0.3', 900],
      ['10.5.0.4', 990],
    ] as const) {
      const { state, rtt_ms } = records.get(ip)!;
      assert.equal(state, 'closed', `${ip} with ${retries} retries`);
      assert.ok(Math.abs(rtt_ms! - rttMs) <= 3, `${rtt_ms} ms`);
    }
  }
});

test('a slow network gets its time, up to the timeout; a timeout below 200 ms is kept', async () => {
  const network = new MadeUpNetwork({ '10.5.0.1': 150 });
  const { gaps } = await scan(network, [['10.5.0.1'], ['10.5.0.2']], { retries: 2, timeoutMs: 1000 });
  // 150 ms, and four times its half.
  assertAbout(gaps('10.5.0.2'), [500, 1000]);
  const short = await scan(new MadeUpNetwork({ '10.5.0.1': 5 }), [['10.5.0.1'], ['10.5.0.2']], {
    retries: 2,
    timeoutMs: 150,
  });
  assertAbout(short.gaps('10.5.0.2'), [150, 150]);
});
