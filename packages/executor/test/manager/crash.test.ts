import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { RemoteCode } from '../../src/protocol/codes.ts';
import { eventually } from '@heddle/test-support/eventually';
import { Fixture, OpenTier, type Payload } from '../support/manager/fixture.ts';
import { MemoryDisk, type CrashPoint } from '../support/manager/memory-disk.ts';

const EVENTS = { Echo: {}, Again: { idempotent: true } };
const TASKS = [
  { key: 'one', event_name: 'Echo' },
  { key: 'two', event_name: 'Echo' },
  { key: 'three', event_name: 'Again' },
  { key: 'four', event_name: 'Echo' },
] as const;
const CANCELED_KEY = 'four';
const ACKNOWLEDGED_KEY = 'one';

/** What the client saw across all lives of the executor. */
class Witness {
  readonly ids = new Map<string, string>();
  readonly outcomes = new Map<string, string>();
  acknowledged = false;
  /** Number of runs by key, across all lives. */
  readonly runs = new Map<string, number>();

  see(key: string, payload: Payload): void {
    const { correlation_id = '' } = payload;
    if (correlation_id === '') return;
    assert.equal(this.ids.get(key) ?? correlation_id, correlation_id, `the key ${key} has two tasks`);
    this.ids.set(key, correlation_id);
    if (payload.status !== 'success' && payload.code === undefined) return;
    const text = JSON.stringify(payload);
    assert.equal(this.outcomes.get(key) ?? text, text, `the task of ${key} has two outcomes`);
    this.outcomes.set(key, text);
  }

  codeOf(key: string): RemoteCode | undefined {
    return (JSON.parse(this.outcomes.get(key) ?? '{}') as Payload).code;
  }
}

function tierOf(witness: Witness): OpenTier {
  const tier = new OpenTier();
  tier.answer = ({ args }) => {
    const { key } = JSON.parse(Buffer.from(args).toString()) as { key: string };
    const run = (witness.runs.get(key) ?? 0) + 1;
    witness.runs.set(key, run);
    if (key === CANCELED_KEY) return null;
    return new Promise((done) =>
      setImmediate(done, { status: 'success', result: Buffer.from(JSON.stringify({ key, run })) }),
    );
  };
  return tier;
}

type Order = 'one by one' | 'at once';

/**
 * One life of the executor: the client resubmits whatever has no outcome, cancels one task and acknowledges another.
 */
async function live(disk: MemoryDisk, witness: Witness, order: Order): Promise<void> {
  const tier = tierOf(witness);
  const opened = Fixture.open({ files: disk, tier, events: EVENTS, settings: { workerCount: 2 } });
  const fixture = await Promise.race([opened, disk.death()]);
  if (fixture === undefined) return;
  await Promise.race([followAll(fixture, witness, order, disk), disk.death()]);
  const closed = fixture[Symbol.asyncDispose]();
  // A dead process never finishes; this only stops its timers.
  if (!disk.isDead) await closed;
}

async function followAll(fixture: Fixture, witness: Witness, order: Order, disk: MemoryDisk): Promise<void> {
  if (order === 'at once') await Promise.all(TASKS.map((task) => follow(fixture, witness, task, disk)));
  else for (const task of TASKS) await follow(fixture, witness, task, disk);
}

async function follow(
  fixture: Fixture,
  witness: Witness,
  { key, event_name }: (typeof TASKS)[number],
  disk: MemoryDisk,
): Promise<void> {
  if (key === ACKNOWLEDGED_KEY && witness.acknowledged) return;
  const request = { event_name, idempotency_key: key, mode: key === 'two' ? 'async' : 'sync' } as const;
  const submitted = fixture.submit({ key }, request).then((payload) => {
    // Its outcome was acknowledged, and the process died before it could confirm that.
    if (payload.code === 'NOT_FOUND' && key === ACKNOWLEDGED_KEY) return;
    witness.see(key, payload);
  });
  if (key === CANCELED_KEY) {
    await eventually(async () => {
      if (disk.isDead) return true;
      const payload = await fixture.call('cancel', { idempotency_key: key });
      if (payload.code === 'NOT_FOUND') return false;
      witness.see(key, payload);
      return witness.outcomes.has(key);
    }, 'the task is canceled');
  }
  await submitted;
  if (key === 'two')
    witness.see(key, await fixture.call('poll', { correlation_id: witness.ids.get(key)!, wait_secs: 30 }));
  if (key === ACKNOWLEDGED_KEY && witness.outcomes.has(key)) {
    await fixture.call('ack', { correlation_ids: [witness.ids.get(key)!] });
    witness.acknowledged = true;
  }
}

function judge(witness: Witness, where: string): void {
  for (const { key, event_name } of TASKS) {
    const runs = witness.runs.get(key) ?? 0;
    assert.ok(witness.outcomes.has(key) || key === ACKNOWLEDGED_KEY, `${where}: the client got no outcome of ${key}`);
    if (event_name === 'Echo') assert.ok(runs <= 1, `${where}: ${key} ran ${runs} times`);
    const code = witness.codeOf(key);
    const possible = key === CANCELED_KEY ? ['CANCELED', 'WORKER_LOST'] : [undefined, 'WORKER_LOST'];
    assert.ok(possible.includes(code), `${where}: ${key} ended ${code ?? 'well'}`);
    if (event_name === 'Again') assert.equal(code, undefined, `${where}: a repeatable task was not repeated`);
  }
}

/** Returns the byte counts at which to cut a write. */
function cuts(length: number): number[] {
  return [...new Set([0, 1, 9, length >> 1, length - 1, length])];
}

class CountingDisk extends MemoryDisk {
  readonly lengths: number[] = [];

  override noteWrite(bytes: Uint8Array): void {
    this.lengths.push(bytes.length);
  }
}

async function crashPoints(order: Order): Promise<CrashPoint[]> {
  const disk = new CountingDisk();
  await live(disk, new Witness(), order);
  return disk.lengths.flatMap((length, index) => cuts(length).map((bytes) => ({ write: index + 1, bytes })));
}

describe('an executor that is killed', () => {
  for (const order of ['one by one', 'at once'] as const) {
    test(`at any byte of any journal write (tasks ${order}): each task has one outcome, and the client gets it`, async () => {
      const points = await crashPoints(order);
      assert.ok(points.length >= (order === 'at once' ? 18 : 50), `only ${points.length} points`);
      for (const point of points) {
        const witness = new Witness();
        const disk = new MemoryDisk();
        disk.crash = point;
        await live(disk, witness, order);
        await live(disk.afterDeath(), witness, order);
        judge(witness, `write ${point.write} cut after ${point.bytes} bytes`);
      }
    });
  }

  test('and again during its recovery', async () => {
    const points = await crashPoints('one by one');
    for (const [at, point] of points.entries()) {
      const witness = new Witness();
      const first = new MemoryDisk();
      first.crash = point;
      await live(first, witness, 'one by one');
      const second = first.afterDeath();
      second.crash = { write: 1 + (at % 4), bytes: (at * 37) % 300 };
      await live(second, witness, 'at once');
      await live(second.afterDeath(), witness, 'at once');
      judge(witness, `write ${point.write} cut after ${point.bytes} bytes, then write ${second.crash.write}`);
    }
  });
});

describe('a failing disk', () => {
  for (const keeps of [false, true]) {
    test(`rejects new tasks${keeps ? ', even if the bytes were kept' : ''}; running tasks get their outcome later`, async () => {
      const disk = new MemoryDisk();
      await using fixture = await Fixture.open({ files: disk, events: EVENTS });
      const running = fixture.submit({ n: 1 });
      await fixture.tier.begun(1);
      disk.failure = new Error('no space is left');
      disk.keepsFailedBytes = keeps;
      const refused = await fixture.submit({ n: 2 }, { idempotency_key: 'k' });
      assert.deepEqual([refused.code, refused.retry_after_secs], ['QUEUE_FULL', 10]);
      assert.equal((await fixture.submit({ n: 3 })).code, 'QUEUE_FULL');
      fixture.tier.runs[0]!.succeed('kept');
      const { status, reason = '' } = fixture.manager.health();
      assert.equal(status, 'degraded');
      assert.match(reason, /no space is left/);
      disk.failure = null;
      assert.equal((await running).result, 'kept');
      await eventually(() => fixture.manager.health().status === 'healthy', 'it is healthy again');
      assert.deepEqual([fixture.tier.runs.length, fixture.manager.health().queue_depth], [1, 0]);
      const next = await Fixture.open({ files: disk.afterDeath(), events: EVENTS });
      const { recent = [] } = await next.call('status', {});
      assert.deepEqual(
        recent.map(({ status }) => status),
        ['success'],
      );
      await next[Symbol.asyncDispose]();
      assert.equal(next.tier.runs.length, 0);
    });
  }
});
