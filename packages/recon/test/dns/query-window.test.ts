/** The concurrency of queries to one resolver, in simulated time without any packets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseResolver, Resolver } from '../../src/dns/resolver.ts';
import { seededRandom } from '@heddle/base/random';

const TIMEOUT_MS = 2000;
/** How long a server keeps what it cannot answer at once. */
const BACKLOG_MS = 20;
/** Fractions of a millisecond, to keep tests short. */
const SENT_MAX = 100;

interface Line {
  rttMs: number;
  /** Share of queries lost regardless of the rate. */
  loss?: number;
  /** Queries per second that the server sustains; excess ones are lost. */
  bears?: number;
}

interface Simulated {
  resolver: Resolver;
  sent: number;
  answered: number;
  /** In the second half. */
  answersPerSec: number;
}

const newResolver = (): Resolver => new Resolver(parseResolver('192.0.2.1'), TIMEOUT_MS, 4096);

/** Sends as fast as the window permits. */
function simulate(line: Line, secs: number, seed: number): Simulated {
  const { rttMs, loss = 0, bears = Infinity } = line;
  const resolver = newResolver();
  const random = seededRandom(seed);
  const events = new Map<number, { answers: number[]; losses: number[] }>();
  const eventsAt = (ms: number): { answers: number[]; losses: number[] } => {
    const at = Math.ceil(ms);
    const known = events.get(at) ?? { answers: [], losses: [] };
    events.set(at, known);
    return known;
  };
  let [sent, answered, halfway, credit] = [0, 0, 0, 0];
  for (let ms = 0; ms < secs * 1000; ms++) {
    const { answers, losses } = eventsAt(ms);
    events.delete(ms);
    resolver.inFlight -= answers.length + losses.length;
    for (const sentAt of answers) resolver.onAnswer(ms - sentAt, ms);
    for (const sentAt of losses) resolver.onTimeout(ms, sentAt);
    answered += answers.length;
    credit = Math.min((bears * BACKLOG_MS) / 1000, credit + bears / 1000);
    for (let count = 0; resolver.hasCapacity && count < SENT_MAX; count++) {
      resolver.inFlight += 1;
      sent += 1;
      const isServed = credit >= 1;
      if (isServed) credit -= 1;
      if (isServed && random.next() >= loss) eventsAt(ms + rttMs).answers.push(ms);
      else eventsAt(ms + resolver.timeoutMs(0)).losses.push(ms);
    }
    if (!resolver.hasCapacity) resolver.onFull();
    if (ms === secs * 500) halfway = answered;
  }
  return { resolver, sent, answered, answersPerSec: (answered - halfway) / (secs / 2) };
}

const SEEDS = [1, 2, 3];

test('a window grows while that pays off', () => {
  const { resolver, answersPerSec } = simulate({ rttMs: 50 }, 4, 1);
  assert.ok(resolver.window > 1000, `${resolver.window}`);
  assert.ok(answersPerSec > 15_000, `${answersPerSec} answers a second, each after 50 ms`);
});

test('loss unrelated to load does not stop a window from growing', () => {
  for (const [loss, rttMs, expected] of [
    [0.1, 1, 50_000],
    [0.3, 1, 10_000],
    [0.3, 40, 10_000],
  ] as const) {
    for (const seed of SEEDS) {
      const { resolver, answersPerSec } = simulate({ rttMs, loss }, 10, seed);
      const what = `${loss} lost, ${rttMs} ms, seed ${seed}: ${answersPerSec} answers a second, ${resolver.window} at once`;
      assert.ok(resolver.window > 500 && answersPerSec > expected, what);
    }
  }
});

test('a saturated server gets nearly its full load with little loss', () => {
  for (const [bears, rttMs] of [
    [5000, 1],
    [1000, 1],
  ] as const) {
    for (const seed of SEEDS) {
      const { resolver, sent, answered, answersPerSec } = simulate({ rttMs, bears }, 10, seed);
      const what = `bears ${bears} a second, ${rttMs} ms: ${answersPerSec}, ${(sent / answered).toFixed(2)} queries an answer, ${resolver.window} at once`;
      assert.ok(answersPerSec > bears * 0.75 && sent < answered * 1.5 && resolver.window < 150, what);
    }
  }
});

test('a window that brings no more answers per second shrinks again', () => {
  const resolver = newResolver();
  let nowMs = 0;
  for (let round = 0; round < 200; round++) {
    // 100 answers per millisecond, whatever the load.
    nowMs += Math.max(resolver.window, 2500) / 100;
    resolver.onFull();
    for (let count = Math.max(resolver.window, 2500); count > 0; count--) resolver.onAnswer(1, nowMs);
  }
  assert.ok(resolver.window <= 200, `${resolver.window}`);
});

test('a burst of lost queries is not silence if answers came after they were sent', () => {
  const resolver = newResolver();
  for (let nowMs = 0; nowMs < 100; nowMs++) resolver.onAnswer(1, nowMs);
  for (let count = 0; count < 100; count++) resolver.onTimeout(200, 50);
  assert.ok(resolver.restsUntil <= 200);
  for (let count = 0; count < 16; count++) resolver.onTimeout(300, 150);
  assert.ok(resolver.restsUntil > 300, 'queries sent after its last answer count');
});
