import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';
import { HeddleError } from '@heddle/base/errors';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { Delivery } from '@heddle/core/engine/port';
import { DeliveryLoop } from '../../src/dispatch/delivery-loop.ts';
import type { DeliveryLoopOptions } from '../../src/dispatch/delivery-loop.ts';
import { StartLoop } from '../../src/dispatch/start-loop.ts';
import { eventually } from '@heddle/test-support/eventually';
import { FakeOutbox } from '../support/dispatch/fake-engine.ts';
import { delivery, dependencies, startTarget } from '../support/dispatch/targets.ts';

const opened: { close: () => Promise<void> }[] = [];
const track = <T extends { close: () => Promise<void> }>(one: T): T => (opened.push(one), one);
after(() => Promise.all(opened.map((one) => one.close())));

let made = 0;
const deliveries = (count: number, url: string, changes: Partial<Delivery> = {}): Delivery[] =>
  Array.from({ length: count }, () => delivery(url, { id: `delivery-${(made += 1)}`, ...changes }));

function loopOf(engine: FakeOutbox, changes: Partial<DeliveryLoopOptions> = {}): DeliveryLoop {
  const deps = track(dependencies(changes));
  const loop = new DeliveryLoop({ ...deps, engine, holder: 'test', intervalMs: 60_000, ...changes });
  if (changes.clock === undefined) opened.unshift({ close: () => loop.stop(0) });
  return loop;
}

/** A target that responds only when the test lets it. */
async function gatedTarget() {
  const held: ServerResponse[] = [];
  let most = 0;
  const target = track(
    await startTarget((_, response) => {
      held.push(response);
      most = Math.max(most, held.length);
    }),
  );
  const release = (): void => held.splice(0).forEach((response) => response.end());
  return { ...target, held, release, most: () => most };
}

describe('delivering from the outbox', () => {
  it('delivers everything once and settles in sets', async () => {
    const target = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    outbox.due.push(...deliveries(300, target.url));
    const gate = Promise.withResolvers<undefined>();
    outbox.settleGate = gate.promise;
    const loop = loopOf(outbox);
    loop.start();
    await eventually(() => target.received.length === 300, '300 requests');
    gate.resolve(undefined);
    await eventually(() => outbox.results.length === 300, '300 results');
    await loop.stop(1000);
    assert.ok(outbox.results.every(({ outcome }) => outcome === 'delivered'));
    assert.equal(new Set(outbox.results.map(({ id }) => id)).size, 300);
    assert.ok(outbox.settled.length < 30, `${outbox.settled.length} sets`);
    assert.ok(target.connections() <= 17, `${target.connections()} connections`);
    assert.ok(outbox.claims.every(({ lease_ms }) => lease_ms === 10_000));
    assert.equal(outbox.dueSignal.listeners, 0);
  });

  it('renews the leases of running tries until they are settled', async () => {
    const target = await gatedTarget();
    const outbox = new FakeOutbox();
    const clock = new VirtualClock();
    const [first] = deliveries(1, target.url);
    outbox.due.push(first!);
    const loop = loopOf(outbox, { clock });
    loop.start();
    await eventually(() => target.held.length === 1, 'the request');
    for (let thirds = 1; thirds <= 4; thirds += 1) {
      await clock.advance(3_334);
      await eventually(() => outbox.renewals.length >= thirds, 'a renewal');
    }
    assert.deepEqual(outbox.renewals[0], [{ id: first!.id, tries: first!.tries }]);
    target.release();
    await eventually(() => outbox.results.length === 1, 'the result');
    const renewed = outbox.renewals.length;
    await clock.advance(20_000);
    assert.equal(outbox.renewals.length, renewed);
    const stopping = loop.stop(0);
    await clock.advance(5_000);
    await stopping;
  });

  it('is notified of due deliveries, without waiting for its interval', async () => {
    const target = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    const loop = loopOf(outbox);
    loop.start();
    await eventually(() => outbox.claims.length === 1, 'the first look');
    outbox.due.push(...deliveries(1, target.url));
    outbox.dueSignal.fire();
    await eventually(() => outbox.results.length === 1, 'the result');
    await loop.stop(1000);
  });

  it('a hanging target never holds back another, nor exceeds its share', async () => {
    const hanging = await gatedTarget();
    const quick = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    outbox.due.push(...deliveries(200, hanging.url), ...deliveries(100, quick.url));
    const loop = loopOf(outbox);
    loop.start();
    await eventually(() => outbox.results.length === 100, 'everything quick is delivered');
    await eventually(() => hanging.held.length === 16, 'the hanging target has its share');
    assert.ok(outbox.results.every(({ outcome }) => outcome === 'delivered'));
    assert.equal(outbox.due.length, 200 - 16, 'what waits for the hanging target stays in the outbox');
    while (outbox.results.length < 300) {
      hanging.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await loop.stop(1000);
    assert.equal(hanging.most(), 16);
  });

  it('many hanging targets hold back others only briefly', async () => {
    const hanging = await Promise.all(Array.from({ length: 8 }, () => gatedTarget()));
    const quick = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    for (const { url } of hanging) outbox.due.push(...deliveries(50, url));
    outbox.due.push(...deliveries(20, quick.url));
    const clock = new VirtualClock(systemClock.now());
    const loop = loopOf(outbox, { clock, slowAfterMs: 1000 });
    loop.start();
    const held = (): number => hanging.reduce((sum, target) => sum + target.held.length, 0);
    await eventually(() => held() === 64, 'every permit is taken by targets that hang');
    assert.equal(outbox.results.length, 0);
    const quickDone = (): boolean => outbox.results.length === 20;
    await clock.advance(1000);
    await eventually(() => quickDone() || held() === 128, 'the quick ones, or the other targets, had their turn');
    await clock.advance(1000);
    await eventually(quickDone, 'everything quick is delivered');
    const stopping = loop.stop(0);
    await clock.advance(10_000);
    await stopping;
  });

  it('retries settlements while the database is unavailable, and loses no result', async () => {
    const target = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    const clock = new VirtualClock(systemClock.now());
    let outages = 5;
    outbox.failSettling = () => (--outages >= 0 ? new HeddleError('DATABASE_UNAVAILABLE') : null);
    outbox.due.push(...deliveries(3, target.url));
    const loop = loopOf(outbox, { clock });
    loop.start();
    await eventually(() => target.received.length === 3, 'three requests');
    while (outbox.results.length < 3) await clock.advance(500);
    await loop.stop(0);
    assert.equal(target.received.length, 3, 'a result that cannot be stored is no reason to call again');
  });

  it('a result that cannot be stored does not fail others', async () => {
    const target = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    const clock = new VirtualClock(systemClock.now());
    const [bad, ...good] = deliveries(10, target.url);
    outbox.failSettling = (results) => (results.some(({ id }) => id === bad!.id) ? new Error('poison') : null);
    outbox.due.push(...good.slice(0, 5), bad!, ...good.slice(5));
    const loop = loopOf(outbox, { clock });
    loop.start();
    await eventually(() => outbox.results.length === 9, 'nine results');
    const stopping = loop.stop(0);
    await clock.advance(10_000);
    await stopping;
    assert.equal(loop.underWay, 0);
  });

  it('a stop lets tries finish within the grace period', async () => {
    const target = await gatedTarget();
    const outbox = new FakeOutbox();
    outbox.due.push(...deliveries(3, target.url));
    const loop = loopOf(outbox);
    loop.start();
    await eventually(() => target.held.length === 3, 'three under way');
    const stopping = loop.stop(60_000);
    outbox.due.push(...deliveries(1, target.url));
    outbox.dueSignal.fire();
    target.release();
    await stopping;
    assert.deepEqual(
      outbox.results.map(({ outcome }) => outcome),
      ['delivered', 'delivered', 'delivered'],
    );
    assert.equal(outbox.due.length, 1);
  });

  it('and aborts those that do not, which are due again at once', async () => {
    const target = await gatedTarget();
    const outbox = new FakeOutbox();
    const clock = new VirtualClock(systemClock.now());
    outbox.due.push(...deliveries(2, target.url));
    const loop = loopOf(outbox, { clock });
    loop.start();
    await eventually(() => target.held.length === 2, 'two under way');
    const stopping = loop.stop(5000);
    await clock.advance(5000);
    await stopping;
    assert.deepEqual(
      outbox.results.map((result) => result.outcome === 'retry' && result.delay_ms),
      [0, 0],
    );
    assert.equal(clock.timers, 0);
  });
});

describe('starting tasks by webhook', () => {
  const starts = (count: number, url: string): Delivery[] => deliveries(count, url, { trigger: 'start' });

  it('claims no more than the deliveries allow, and continues when they allow more', async () => {
    const target = await gatedTarget();
    const outbox = new FakeOutbox();
    const loop = loopOf(outbox, { permits: 8, permitsPerOrigin: 8 });
    const startLoop = new StartLoop({
      engine: outbox,
      deliveries: loop,
      holder: 'test',
      intervalMs: 60_000,
      clock: systemClock,
      log: silentLogger,
    });
    outbox.ready.push(...starts(100, target.url));
    loop.start();
    startLoop.start();
    await eventually(() => target.held.length === 8, 'the target has its share');
    await eventually(() => outbox.startClaims.length > 0, 'the start loop has claimed');
    assert.equal(outbox.startClaims[0], 16, 'twice the permits');
    while (outbox.results.length < 100) {
      target.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await startLoop.stop();
    await loop.stop(1000);
    assert.ok(outbox.startClaims.every((limit) => limit <= 16));
    assert.equal(outbox.readySignal.listeners, 0);
    assert.equal(target.most(), 8);
  });

  it('a hanging target does not keep tasks of other targets from starting', async () => {
    const hanging = await gatedTarget();
    const quick = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    const loop = loopOf(outbox, { permits: 8, permitsPerOrigin: 4 });
    const deps = dependencies();
    const { metrics } = deps;
    await deps.close();
    const startLoop = new StartLoop({
      engine: outbox,
      deliveries: loop,
      holder: 'test',
      intervalMs: 60_000,
      clock: systemClock,
      log: silentLogger,
      metrics,
    });
    outbox.ready.push(...starts(300, hanging.url), ...starts(30, quick.url));
    loop.start();
    startLoop.start();
    await eventually(() => outbox.results.length === 30, 'the quick ones started');
    assert.equal(hanging.held.length, 4);
    await startLoop.stop();
    const stopping = loop.stop(0);
    await stopping;
    const text = await metrics.registry.metrics();
    assert.match(text, /worker_loop_iterations_total [1-9]/);
    assert.match(text, /tasks_processed_per_loop_sum 330/);
  });

  it('is notified of ready tasks', async () => {
    const target = track(await startTarget((_, response) => response.end()));
    const outbox = new FakeOutbox();
    const loop = loopOf(outbox);
    const startLoop = new StartLoop({
      engine: outbox,
      deliveries: loop,
      holder: 'test',
      intervalMs: 60_000,
      clock: systemClock,
      log: silentLogger,
    });
    loop.start();
    startLoop.start();
    await eventually(() => outbox.startClaims.length === 1, 'the first look');
    outbox.ready.push(...starts(1, target.url));
    outbox.readySignal.fire();
    await eventually(() => outbox.results.length === 1, 'it started');
    await startLoop.stop();
    await loop.stop(1000);
  });
});
