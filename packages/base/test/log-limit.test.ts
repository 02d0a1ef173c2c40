import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '../src/clock.ts';
import { limitedLogger, LogLimit } from '../src/log-limit.ts';
import { createLogger } from '../src/log.ts';

function setUp() {
  const lines: string[] = [];
  const clock = new VirtualClock();
  const destination = { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) };
  const log = createLogger({ level: 'info', destination });
  const limit = new LogLimit(clock, { perSecond: 1, burst: 3 });
  return { lines, clock, log, limit };
}

test('of each kind a few lines are written at once, then one a second, and the count of the others', async () => {
  const { lines, clock, log, limit } = setUp();
  const limited = limitedLogger(log, limit);
  for (let index = 0; index < 10; index += 1) limited.info({}, 'refused');
  limited.child({ listener: 'tcp' }).info({}, 'a handshake failed');
  assert.deepEqual(lines.splice(0), ['refused', 'refused', 'refused', 'a handshake failed']);
  await clock.advance(1_000);
  for (let index = 0; index < 4; index += 1) limited.info({}, 'refused');
  assert.deepEqual(lines.splice(0), ['refused']);
  await clock.advance(9_000);
  assert.deepEqual(lines.splice(0), ['10 more like this in the last 10 s: refused']);
  await clock.advance(60_000);
  assert.deepEqual(lines, []);
  assert.equal(clock.timers, 0);
});

test('the number of omitted lines is reported at the end', async () => {
  const { lines, clock, log, limit } = setUp();
  for (let index = 0; index < 5; index += 1) limit.write(log, 'info', 'kind', {}, `text ${index}`);
  limit.flush();
  assert.deepEqual(lines, ['text 0', 'text 1', 'text 2', '2 more like this in the last 1 s: kind']);
  await clock.advance(60_000);
  assert.equal(lines.length, 4);
});

test('lines below the level of the log cost nothing but their count', async () => {
  const { lines, clock, log, limit } = setUp();
  for (let index = 0; index < 100; index += 1) limit.write(log, 'debug', 'kind', {}, 'text');
  await clock.advance(60_000);
  assert.deepEqual(lines, []);
});
