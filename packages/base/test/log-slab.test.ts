import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { decodeLines, encodeLines } from '../src/log-lines.ts';
import { findLog, joinLogs, linesOf, LogSlabWriter } from '../src/log-slab.ts';
import { LOG_LEVELS, type LogLine } from '../src/vocabulary/task-log.ts';

const someLine: fc.Arbitrary<LogLine> = fc
  .record({
    at: fc.integer({ min: 0, max: 2 ** 42 }),
    origin: fc.constantFrom<[LogLine['stream'], LogLine['level']]>(
      ['stdout', null],
      ['stderr', null],
      ...LOG_LEVELS.map((level): [LogLine['stream'], LogLine['level']] => ['log', level]),
    ),
    text: fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.toWellFormed().replaceAll(/[\n\0]/g, '')),
  })
  .map(({ at, origin: [stream, level], text }) => ({ at, stream, level, text }));

const someLines = fc.array(someLine, { minLength: 1, maxLength: 12 });

test('every log is found among joined ones, whatever its lines and wherever it lies', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          task: fc.integer({ min: 1, max: 12 }),
          attempt: fc.integer({ min: 1, max: 12 }),
          lines: someLines,
        }),
        {
          minLength: 1,
          maxLength: 12,
        },
      ),
      fc.boolean(),
      (given, isReversed) => {
        const distinct = [...new Map(given.map((each) => [`${each.task} ${each.attempt}`, each])).values()];
        const writer = new LogSlabWriter();
        const logs = distinct.map(({ task, attempt, lines }) => writer.write(`${task}`, attempt, encodeLines(lines)));
        const joined = joinLogs(isReversed ? logs.toReversed() : logs);
        for (const [index, { task, attempt, lines }] of distinct.entries()) {
          assert.deepEqual(decodeLines(findLog(joined, `${task}`, attempt)!), lines);
          assert.deepEqual(decodeLines(linesOf(logs[index]!).text), lines);
        }
        assert.equal(findLog(joined, '13', 1), null);
      },
    ),
  );
});

test('a line that looks like the beginning of another log is a line', () => {
  const writer = new LogSlabWriter();
  const line = (text: string): LogLine => ({ at: 1, stream: 'log', level: 'info', text });
  const logs = [
    writer.write('a', 1, encodeLines([line('b 1'), line('')])),
    writer.write('b', 1, encodeLines([line('!')])),
  ];
  assert.deepEqual(decodeLines(findLog(joinLogs(logs), 'b', 1)!), [line('!')]);
});

test('logs go on in the next slab when one is full', () => {
  const writer = new LogSlabWriter();
  const text = 'x'.repeat(4_000);
  const logs = Array.from({ length: 500 }, (_, index) =>
    writer.write(`${index}`, 1, encodeLines([{ at: index, stream: 'stdout', level: null, text }])),
  );
  assert.ok(new Set(logs.map(({ slab }) => slab)).size > 1);
  const joined = joinLogs(logs);
  for (const index of [0, 100, 131, 250, 499]) {
    assert.deepEqual(decodeLines(findLog(joined, `${index}`, 1)!), [
      { at: index, stream: 'stdout', level: null, text },
    ]);
  }
});
