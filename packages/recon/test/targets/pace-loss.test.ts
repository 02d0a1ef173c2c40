/** Rates under loss on a virtual clock: packets pass a lossy line. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { createPace } from '../../src/targets/pace.ts';
import type { Pace } from '../../src/targets/port.ts';
import { VirtualClock } from '@heddle/base/clock';

const STEP_MS = 10;

/** Returns how many of the packets sent in one step are answered. */
type Line = (sent: number) => number;

/** Sustains this many packets per second; excess ones are lost. */
const narrow =
  (rate: number): Line =>
  (sent) =>
    Math.min(sent, (rate * STEP_MS) / 1000);

/** Loses a share of all packets, whatever the rate. */
function lossy(share: number): Line {
  let seed = 42;
  return (sent) => {
    let answered = 0;
    for (let packet = 0; packet < sent; packet += 1) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      if ((seed >>> 8) / 2 ** 24 >= share) answered += 1;
    }
    return answered;
  };
}

const whole: Line = (sent) => sent;
const dead: Line = () => 0;

class Sender {
  readonly clock = new VirtualClock();
  readonly pace: Pace;
  readonly #offered: number;
  #owed = 0;

  /** @param offered packets per second that are available to send */
  constructor(rate: number, offered = rate) {
    this.pace = createPace({ clock: this.clock, rate, hostRate: Infinity });
    this.#offered = offered;
  }

  /** Sends at the permitted rate for this long; returns packets per second. */
  async send(secs: number, line: Line): Promise<number> {
    let all = 0;
    for (let step = 0; step < (secs * 1000) / STEP_MS; step += 1) {
      await this.clock.advance(STEP_MS);
      this.#owed = Math.min(this.#offered, this.#owed + (this.#offered * STEP_MS) / 1000);
      let sent = 0;
      while (this.#owed >= 1 && this.pace.take('10.0.0.1') === 0) {
        sent += 1;
        this.#owed -= 1;
      }
      this.pace.observe(sent, line(sent));
      all += sent;
    }
    return all / secs;
  }
}

describe('loss', () => {
  test('lowers the rate to what the line sustains, and it recovers within three seconds without loss', async () => {
    for (const rate of [1000, 20_000]) {
      const sender = new Sender(rate);
      const bears = rate / 2;
      await sender.send(3, narrow(bears));
      const under = await sender.send(10, narrow(bears));
      assert.ok(under > bears * 0.7 && under < bears * 1.3, `${under}/s over a line that bears ${bears}/s`);
      await sender.send(3, whole);
      assert.equal(sender.pace.rate, rate);
    }
  });

  test('never lowers it below a tenth of the request, 100 per second, or the request itself', async () => {
    for (const [rate, floor] of [
      [100_000, 10_000],
      [1000, 100],
      [500, 100],
      [60, 60],
    ] as const) {
      const sender = new Sender(rate);
      for (let secs = 0; secs < 20; secs += 1) {
        await sender.send(1, dead);
        assert.ok(sender.pace.rate >= floor, `${sender.pace.rate}/s of ${rate}/s`);
      }
      assert.equal(sender.pace.rate, floor);
      await sender.send(3, whole);
      assert.equal(sender.pace.rate, rate);
    }
  });

  test('unrelated to the rate slows nothing for long; loss beyond it still lowers the rate', async () => {
    for (const share of [0.1, 0.3, 0.6]) {
      const sender = new Sender(10_000);
      await sender.send(5, lossy(share));
      const rate = await sender.send(10, lossy(share));
      assert.ok(rate > 9000, `${rate}/s of 10,000/s at a loss of ${share}`);
    }
    const sender = new Sender(10_000);
    await sender.send(5, lossy(0.2));
    await sender.send(1, (sent) => narrow(3000)(lossy(0.2)(sent)));
    assert.ok(sender.pace.rate < 8000, String(sender.pace.rate));
    // Once it has ceased, later loss counts as before.
    await sender.send(20, whole);
    await sender.send(1, lossy(0.2));
    assert.ok(sender.pace.rate < 8000, String(sender.pace.rate));
  });

  test('on a line that sustains less than a tenth is not mistaken for unrelated loss', async () => {
    const sender = new Sender(10_000);
    await sender.send(3, narrow(500));
    for (let secs = 0; secs < 10; secs += 1) {
      await sender.send(1, narrow(500));
      assert.ok(sender.pace.rate <= 2000, String(sender.pace.rate));
    }
  });

  test('of less than a twentieth, or of too few packets, changes nothing', async () => {
    const sender = new Sender(1000);
    await sender.send(10, lossy(0.02));
    assert.equal(sender.pace.rate, 1000);
    await sender.clock.advance(1000);
    sender.pace.observe(10, 0);
    assert.equal(sender.pace.rate, 1000);
  });

  test('does not include late answers', async () => {
    const sender = new Sender(1000);
    for (let round = 0; round < 50; round += 1) {
      await sender.clock.advance(20);
      // Forty were abandoned; forty of the previous round were answered after all.
      sender.pace.observe(40, 0);
      sender.pace.observe(0, 40);
    }
    assert.equal(sender.pace.rate, 1000);
  });

  test('is forgotten if there is no further data', async () => {
    const sender = new Sender(1000);
    await sender.send(2, dead);
    assert.equal(sender.pace.rate, 100);
    for (let round = 0; round < 20; round += 1) {
      await sender.clock.advance(500);
      sender.pace.take('10.0.0.1');
    }
    assert.equal(sender.pace.rate, 1000);
  });
});

describe('without a limit, loss', () => {
  test('imposes a rate, and removes it again', async () => {
    const sender = new Sender(Infinity, 50_000);
    await sender.send(3, narrow(20_000));
    assert.ok(sender.pace.rate < 30_000, String(sender.pace.rate));
    const under = await sender.send(5, narrow(20_000));
    assert.ok(under > 13_000 && under < 30_000, String(under));
    await sender.send(3, whole);
    assert.equal(sender.pace.rate, Infinity);
  });

  test('never lowers it below 1,000 per second, or a tenth of the highest', async () => {
    const slow = new Sender(Infinity, 300);
    await slow.send(20, dead);
    assert.equal(slow.pace.rate, 1000, 'only three hundred per second were sent');
    const fast = new Sender(Infinity, 100_000);
    await fast.send(20, dead);
    assert.ok(fast.pace.rate >= 9000, String(fast.pace.rate));
  });

  test('grants no burst for packets sent before', async () => {
    const sender = new Sender(Infinity, 50_000);
    await sender.send(0.2, dead);
    assert.ok(sender.pace.rate < Infinity);
    let sent = 0;
    while (sender.pace.take('10.0.0.1') === 0) sent += 1;
    assert.ok(sent <= sender.pace.rate * 0.01, `${sent} at once at ${sender.pace.rate}/s`);
  });
});
