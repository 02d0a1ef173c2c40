import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HeddleError } from '@heddle/base/errors';
import { systemClock, VirtualClock, type Clock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { decodeLines } from '@heddle/base/log-lines';
import type { LogChunk, LogLine } from '@heddle/base/vocabulary/task-log';
import { TaskLogs } from '../../src/dispatch/task-logs.ts';

const ATTEMPT = { task_id: 'a', attempt: 1 };

/** What a store that replaces a chunk by a longer one would hold. */
function stored(chunks: readonly LogChunk[]): string[] {
  const kept = new Map<number, readonly LogLine[]>();
  for (const { first_line, text } of chunks) {
    const lines = decodeLines(text);
    if ((kept.get(first_line)?.length ?? 0) < lines.length) kept.set(first_line, lines);
  }
  const texts: string[] = [];
  for (const [first, lines] of [...kept].sort(([a], [b]) => a - b)) {
    for (const [index, { text }] of lines.entries()) texts[first + index] = text;
  }
  return texts;
}

function logsTo(store: (chunks: readonly LogChunk[]) => Promise<void>, clock: Clock = systemClock): TaskLogs {
  return new TaskLogs({ store, clock, log: silentLogger });
}

test('lines are split, cut and cleaned, and all are stored at the end', async () => {
  const sent: LogChunk[] = [];
  const log = logsTo((chunks) => Promise.resolve(void sent.push(...chunks))).open(ATTEMPT);
  log.add('stdout', null, 'one\ntwo\r\nthree\0');
  log.add('log', 'warn', 'x'.repeat(20_000));
  await log.close();
  const texts = stored(sent);
  assert.deepEqual(texts.slice(0, 3), ['one', 'two', 'three\ufffd']);
  assert.deepEqual(
    texts.slice(3).map((text) => text.length),
    [8_192, 8_192, 3_616],
  );
});

test('lines are stored while the task runs', async () => {
  const clock = new VirtualClock();
  const sent: LogChunk[] = [];
  const log = logsTo((chunks) => Promise.resolve(void sent.push(...chunks)), clock).open(ATTEMPT);
  for (const text of ['a', 'b', 'c']) {
    log.add('stdout', null, text);
    await clock.advance(600);
  }
  assert.deepEqual(
    sent.map(({ lines }) => lines),
    [1, 2, 3],
  );
  await log.close();
  assert.deepEqual(stored(sent), ['a', 'b', 'c']);
});

test('no line is lost or reordered when storing fails for a while', async () => {
  const clock = new VirtualClock();
  const sent: LogChunk[] = [];
  let calls = 0;
  const logs = logsTo((chunks) => {
    calls += 1;
    // Every other time the answer is lost: before the chunks were stored, or after it.
    if (calls % 3 === 1) return Promise.reject(new HeddleError('DATABASE_UNAVAILABLE'));
    sent.push(...chunks);
    return calls % 3 === 2 ? Promise.reject(new HeddleError('DATABASE_UNAVAILABLE')) : Promise.resolve();
  }, clock);
  const log = logs.open(ATTEMPT);
  const expected: string[] = [];
  for (let round = 0; round < 40; round += 1) {
    for (let at = 0; at < 50; at += 1) expected.push(`${round} ${at} ${'.'.repeat(100)}`);
    log.add('stdout', null, expected.slice(-50).join('\n'));
    await clock.advance(300);
  }
  const closed = log.close();
  for (let round = 0; round < 20; round += 1) await clock.advance(1_000);
  await closed;
  assert.deepEqual(stored(sent), expected);
});

test('what cannot be stored waits in bounded memory: the first lines and the newest', async () => {
  const clock = new VirtualClock();
  let away = true;
  const sent: LogChunk[] = [];
  const logs = logsTo((chunks) => {
    if (away) return Promise.reject(new HeddleError('DATABASE_UNAVAILABLE'));
    sent.push(...chunks);
    return Promise.resolve();
  }, clock);
  const log = logs.open(ATTEMPT);
  for (let at = 0; at < 5_000; at += 1) log.add('stdout', null, `${at} ${'x'.repeat(1_000)}`);
  away = false;
  const closed = log.close();
  await clock.advance(2_000);
  await closed;
  const texts = stored(sent);
  const numbers = texts.map((text) => Number.parseInt(text, 10)).filter((number) => !Number.isNaN(number));
  assert.ok(numbers.length > 900 && numbers.length < 1_100, String(numbers.length));
  assert.deepEqual([numbers[0], numbers.at(-1)], [0, 4_999]);
  assert.ok(numbers.every((number, at) => texts[number] !== undefined && (at === 0 || number > numbers[at - 1]!)));
});

test('lines that can never be stored do not hold up the end of their task', async () => {
  const log = logsTo(() => Promise.reject(new HeddleError('VALIDATION_FAILED'))).open(ATTEMPT);
  log.add('stdout', null, 'x');
  await log.close();
});
