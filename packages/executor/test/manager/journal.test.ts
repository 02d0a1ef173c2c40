import assert from 'node:assert/strict';
import { constants, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { directoryFiles } from '../../src/manager/journal/directory-files.ts';
import { FrameBuffer, nextFrame, readFrames } from '../../src/manager/journal/frames.ts';
import type { JournalRecord } from '../../src/manager/journal/records.ts';
import { segmentName, Segments } from '../../src/manager/journal/segments.ts';
import { VirtualClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { Fixture, OpenTier } from '../support/manager/fixture.ts';
import { MemoryDisk } from '../support/manager/memory-disk.ts';

function answering(result: (args: Uint8Array) => Uint8Array = (args) => args): OpenTier {
  const tier = new OpenTier();
  tier.answer = ({ args }) => ({ status: 'success', result: result(args) });
  return tier;
}

test(
  'each journal write is synced, unless disabled',
  { skip: process.platform === 'linux' ? false : 'NOT RUN: only Linux reports the open flags of a file' },
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'heddle-journal-'));
    t.after(() => rm(directory, { recursive: true }));
    const files = await directoryFiles(directory);
    for (const [number, sync] of [true, false].entries()) {
      const segments = new Segments(files, { segmentBytes: 1_000, sync }, [{ number, size: 0 }]);
      await segments.current();
      assert.equal((openFlags(join(directory, segmentName(number + 1))) & constants.O_DSYNC) !== 0, sync);
      await segments.close();
    }
  },
);

/** Returns the open flags of this process's descriptor for the file. */
function openFlags(path: string): number {
  const isOf = (descriptor: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === path;
    } catch {
      return false;
    }
  };
  const descriptor = readdirSync('/proc/self/fd').find(isOf);
  assert.ok(descriptor !== undefined, `${path} is not open`);
  return Number.parseInt(/^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))![1]!, 8);
}

describe('frames', () => {
  const records: JournalRecord[] = [
    { type: 'started', id: 'a' },
    { type: 'ended', id: 'a', code: null, at_ms: 1 },
    { type: 'removed', ids: ['ä', 'b'] },
  ];

  function framed(): { bytes: Buffer; ends: number[] } {
    const buffer = new FrameBuffer();
    const ends = records.map((record) => {
      buffer.add(record, record.type === 'ended' ? Buffer.from('{"result":"ü"}') : null);
      return buffer.length;
    });
    return { bytes: Buffer.from(buffer.bytes()), ends };
  }

  function read(bytes: Buffer): { records: JournalRecord[]; bodies: string[]; whole: number } {
    const found: JournalRecord[] = [];
    const bodies: string[] = [];
    const whole = readFrames(bytes, 1, (record, body) => {
      found.push(record);
      bodies.push(body.toString());
    });
    return { records: found, bodies, whole };
  }

  test('cut at any byte, all whole records before the cut are read', () => {
    const { bytes, ends } = framed();
    assert.deepEqual(read(bytes).bodies, ['', '{"result":"ü"}', '']);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const count = ends.filter((end) => end <= cut).length;
      const found = read(bytes.subarray(0, cut));
      assert.deepEqual(found.records, records.slice(0, count));
      assert.equal(found.whole, ends[count - 1] ?? 0);
    }
  });

  test('with any bit flipped, only written records are read', () => {
    const { bytes, ends } = framed();
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = flipped[bit >> 3]! ^ (1 << (bit & 7));
      const whole = ends.filter((end) => end <= bit >> 3).length;
      const { records: found, whole: at } = read(flipped);
      assert.deepEqual(found, records.slice(0, whole));
      assert.equal(nextFrame(flipped, at + 1), whole + 1 < ends.length ? ends[whole] : null);
    }
  });
});

describe('the journal', () => {
  test('in a directory: outcomes, including large ones, survive a restart, even after a torn tail', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'heddle-journal-'));
    try {
      const large = Buffer.from(JSON.stringify('x'.repeat(300_000)));
      const first = await Fixture.open({ directory, tier: answering(() => large) });
      const { correlation_id = '' } = await first.submit({}, { idempotency_key: 'k' });
      assert.equal(String((await first.call('poll', { correlation_id })).result).length, 300_000);
      await first[Symbol.asyncDispose]();
      await truncate(join(directory, 'tasks-000001.log'), 310_000).catch(() => undefined);
      await using second = await Fixture.open({ directory });
      const again = await second.submit({}, { idempotency_key: 'k' });
      assert.equal(again.correlation_id, correlation_id);
      assert.equal(String(again.result).length, 300_000);
      assert.equal(second.tier.runs.length, 0);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test('damaged in the middle: later records are read, and nothing runs twice', async () => {
    const disk = new MemoryDisk();
    const tier = new OpenTier();
    tier.answer = ({ args }) => (Buffer.from(args).includes('long') ? null : { status: 'success', result: args });
    const settings = { workerCount: 1 };
    const first = await Fixture.open({ files: disk, tier, settings });
    const done = await first.submit({ n: 1 }, { idempotency_key: 'done' });
    const running = await first.submit({ long: 'run' }, { mode: 'async', idempotency_key: 'running' });
    await eventually(() => tier.runs.length === 2, 'the long task runs');
    await first.submit({ n: 2 }, { mode: 'async', idempotency_key: 'waiting' });
    disk.die();
    void first.manager.close();
    let lost = 0;
    for (let at = 0; at < disk.bytes; at += 7) {
      const damaged = disk.afterDeath();
      damaged.flip('tasks-000001.log', at);
      await using next = await Fixture.open({ files: damaged, tier: answering(), settings });
      // Waiting and running tasks have ended before they are requested again.
      await next.submit({ n: 2 }, { idempotency_key: 'waiting' });
      const answers = [
        await next.submit({ n: 1 }, { idempotency_key: 'done' }),
        await next.submit({ long: 'run' }, { idempotency_key: 'running' }),
      ];
      for (const [index, { correlation_id }] of [done, running].entries()) {
        const { correlation_id: again, status, code } = answers[index]!;
        // Without its first record, the task is unknown.
        if (again !== correlation_id) continue;
        assert.ok(code === 'WORKER_LOST' || (index === 0 && status === 'success'), `byte ${at}: ${code ?? status}`);
        lost += code === 'WORKER_LOST' ? 1 : 0;
      }
    }
    assert.ok(lost > 0);
  });

  test('waiting tasks of an event that is no longer allowed after a restart do not run', async () => {
    const disk = new MemoryDisk();
    const first = await Fixture.open({ files: disk, settings: { workerCount: 1 } });
    await first.submit({ n: 1 }, { mode: 'async' });
    await first.tier.begun(1);
    const { correlation_id = '' } = await first.submit({ n: 2 }, { mode: 'async' });
    disk.die();
    void first.manager.close();
    await using next = await Fixture.open({ files: disk.afterDeath(), settings: { allowedEvents: ['Another'] } });
    const { code, message } = await next.call('poll', { correlation_id, wait_secs: 30 });
    assert.deepEqual([code, next.tier.runs.length], ['EVENT_UNAVAILABLE', 0]);
    assert.match(message ?? '', /is no longer allowed here/);
  });

  test('stays small: acknowledged tasks are removed, long-running ones rewritten', async () => {
    const clock = new VirtualClock();
    const disk = new MemoryDisk();
    const tier = new OpenTier();
    const bytes = 40_000;
    tier.answer = ({ args }) =>
      Buffer.from(args).includes('long') ? null : { status: 'success', result: Buffer.from(`"${'r'.repeat(bytes)}"`) };
    const journalBytesMax = 8 * 1_048_576;
    const settings = { workerCount: 2, journalBytesMax, maxPendingTasks: 1_000 };
    const fixture = await Fixture.open({ clock, files: disk, tier, settings });
    const kept = await fixture.submit({ kept: true }, { idempotency_key: 'kept' });
    await fixture.submit({ long: 'run' }, { mode: 'async', idempotency_key: 'long' });
    let most = 0;
    for (let round = 0; round < 60; round += 1) {
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => fixture.submit({ round, n })));
      assert.ok(answers.every(({ status }) => status === 'success'));
      await fixture.call('ack', { correlation_ids: answers.map(({ correlation_id = '' }) => correlation_id) });
      await clock.advance(1_001);
      await eventually(() => disk.bytes < journalBytesMax / 2, 'old files are deleted');
      most = Math.max(most, disk.bytes);
    }
    // 60 rounds wrote 24 MB.
    assert.ok(most < journalBytesMax / 2, `${most} bytes`);
    assert.ok(!disk.names.includes('tasks-000001.log'));
    disk.die();
    void fixture.manager.close();
    await using next = await Fixture.open({ clock, files: disk.afterDeath(), settings });
    assert.deepEqual(await next.submit({ kept: true }, { idempotency_key: 'kept' }), kept);
    assert.equal((await next.submit({ long: 'run' }, { idempotency_key: 'long' })).code, 'WORKER_LOST');
    const { recent = [] } = await next.call('status', {});
    assert.equal(recent.length, 2);
  });

  test('full of uncollected outcomes: QUEUE_FULL for their client, not for others', async () => {
    const clock = new VirtualClock();
    const tier = answering(() => Buffer.from(`"${'r'.repeat(200_000)}"`));
    await using fixture = await Fixture.open({
      clock,
      files: new MemoryDisk(),
      tier,
      settings: { journalBytesMax: 4 * 1_048_576 },
    });
    const taken: string[] = [];
    for (;;) {
      const { code, correlation_id = '', retry_after_secs } = await fixture.submit();
      if (code === 'QUEUE_FULL') {
        assert.equal(retry_after_secs, 10);
        break;
      }
      taken.push(correlation_id);
      assert.ok(taken.length < 30, 'it never gets full');
    }
    assert.equal((await fixture.submit({}, {}, { client: 'bob' })).status, 'success');
    await fixture.call('ack', { correlation_ids: taken });
    assert.equal((await fixture.submit()).status, 'success');
  });

  test('keeps a limited number of outcomes, evicting delivered ones first', async () => {
    await using fixture = await Fixture.open({
      files: new MemoryDisk(),
      tier: answering(),
      settings: { retainedTasksMax: 20 },
    });
    const ids: string[] = [];
    for (let n = 0; n < 40; n += 1) ids.push((await fixture.submit({ n })).correlation_id!);
    assert.equal((await fixture.call('poll', { correlation_id: ids[0]! })).code, 'NOT_FOUND');
    assert.deepEqual((await fixture.call('poll', { correlation_id: ids[39]! })).result, { n: 39 });
  });
});
