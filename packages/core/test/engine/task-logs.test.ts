import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';

import type { LogChunk, LogLine, LogPage } from '@heddle/base/vocabulary/task-log';
import type { Statement } from '../../src/store/database.ts';
import { VirtualClock } from '@heddle/base/clock';
import { encodeLines } from '@heddle/base/log-lines';
import { newId } from '@heddle/base/random';
import { claimKind, newBench, newTask, submitTasks, succeed, type Bench } from '@heddle/test-support/engine/fixture';

const STORED: Statement = {
  name: 'test.log_size',
  text: `select count(*)::integer as chunks, coalesce(sum(bytes), 0)::integer as bytes from heddle.task_log`,
};
const MIB = 1024 * 1024;

const line = (text: string, extra: Partial<LogLine> = {}): LogLine => {
  return { at: 1_700_000_000_000, stream: 'stdout', level: null, text, ...extra };
};

async function claimed(bench: Bench): Promise<string> {
  const [task] = (await submitTasks(bench.engine, [newTask()])).tasks;
  await claimKind(bench.engine);
  return task!.id;
}

const chunk = (task_id: string, first_line: number, lines: readonly LogLine[], attempt = 1): LogChunk => {
  return { task_id, attempt, first_line, ...encodeLines(lines) };
};

async function readAll({ engine }: Bench, id: string, attempt: number | null = null): Promise<LogPage['lines']> {
  const all: LogPage['lines'] = [];
  for (let from = 0; ;) {
    const page = await engine.readLogs(id, { attempt, from, tail: null, limit: 700 });
    if (page === null || page.lines.length === 0) return all;
    all.push(...page.lines);
    from = page.next;
  }
}

describe('the log of a task', { concurrency: false }, () => {
  test('is read as it was written, whatever the lines contain', async () => {
    const bench = await newBench();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            at: fc.integer({ min: 0, max: 2 ** 42 }),
            origin: fc.constantFrom(
              ...([
                ['stdout', null],
                ['stderr', null],
                ['log', 'warn'],
                ['log', 'debug'],
                ['log', 'error'],
              ] as const),
            ),
            text: fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll(/[\n\0]/g, '')),
          }),
          { minLength: 1, maxLength: 60 },
        ),
        fc.integer({ min: 1, max: 20 }),
        async (given, size) => {
          const lines = given.map(({ at, origin: [stream, level], text }) => ({ at, stream, level, text }));
          const id = await claimed(bench);
          const chunks = Array.from({ length: Math.ceil(lines.length / size) }, (_, index) =>
            chunk(id, index * size, lines.slice(index * size, (index + 1) * size)),
          );
          await bench.engine.appendLogs(chunks);
          assert.deepEqual(
            await readAll(bench, id),
            lines.map((each, number) => ({ number, ...each })),
          );
        },
      ),
      { numRuns: 25 },
    );
  });

  test('has each line once, although chunks are repeated, grow, and are cut in another way', async () => {
    const bench = await newBench();
    const id = await claimed(bench);
    const lines = Array.from({ length: 10 }, (_, index) => line(`line ${index}`));
    const { engine } = bench;
    await engine.appendLogs([chunk(id, 0, lines.slice(0, 3))]);
    await engine.appendLogs([chunk(id, 0, lines.slice(0, 5))]);
    await engine.appendLogs([chunk(id, 0, lines.slice(0, 2))]);
    await engine.appendLogs([chunk(id, 3, lines.slice(3, 8)), chunk(id, 8, lines.slice(8))]);
    await engine.appendLogs([chunk(id, 0, lines.slice(0, 5))]);
    assert.deepEqual(
      (await readAll(bench, id)).map(({ text }) => text),
      lines.map(({ text }) => text),
    );
    const tail = await engine.readLogs(id, { attempt: null, from: null, tail: 3, limit: 3 });
    assert.deepEqual(
      tail!.lines.map(({ number }) => number),
      [7, 8, 9],
    );
  });

  test('is kept by attempt, and is readable under no id if its task is unknown', async () => {
    const bench = await newBench();
    const { engine } = bench;
    const id = await claimed(bench);
    await engine.appendLogs([
      chunk(id, 0, [line('first')]),
      chunk(newId(), 0, [line('whose?')]),
      chunk(id, 0, [line('x')], 2),
    ]);
    await engine.release([{ task_id: id, attempt: 1 }]);
    await claimKind(engine);
    await engine.appendLogs([chunk(id, 0, [line('second')], 2)]);
    assert.deepEqual(
      (await readAll(bench, id)).map(({ text }) => text),
      ['second'],
    );
    assert.deepEqual(
      (await readAll(bench, id, 1)).map(({ text }) => text),
      ['first'],
    );
    assert.equal(await engine.readLogs(newId(), { attempt: null, from: null, tail: null, limit: 1 }), null);
    const [stored] = await bench.database.query<{ chunks: number }>(STORED);
    assert.equal(stored!.chunks, 2);
  });

  test('keeps the first quarter and the newest rest of an attempt that logs without end', async () => {
    const bench = await newBench();
    const { engine } = bench;
    const id = await claimed(bench);
    const text = 'x'.repeat(1_000);
    for (let first = 0; first < 5_000; first += 16) {
      await engine.appendLogs([
        chunk(
          id,
          first,
          Array.from({ length: 16 }, (_, at) => line(`${first + at} ${text}`)),
        ),
      ]);
    }
    const [stored] = await bench.database.query<{ bytes: number }>(STORED);
    assert.ok(stored!.bytes <= MIB + 40_000 && stored!.bytes > MIB - 40_000, String(stored!.bytes));
    const numbers = (await readAll(bench, id)).map(({ number }) => number);
    const gap = numbers.findIndex((number, at) => at > 0 && number !== numbers[at - 1]! + 1);
    assert.equal(numbers[0], 0);
    assert.equal(numbers.at(-1), 5_007);
    assert.ok(numbers[gap - 1]! > 230 && numbers[gap - 1]! < 280, `the first part ends at ${numbers[gap - 1]}`);
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok(numbers.slice(gap).every((number, at) => number === numbers[gap]! + at));
  });

  test('keeps its beginning if that came in one large piece', async () => {
    const bench = await newBench();
    const id = await claimed(bench);
    const text = randomBytes(2_000).toString('base64');
    const lines = Array.from({ length: 1_600 }, (_, index) => line(`${index} ${text}`));
    for (let from = 0; from < lines.length; from += 200)
      await bench.engine.appendLogs([chunk(id, from, lines.slice(from, from + 200))]);
    const numbers = (await readAll(bench, id)).map(({ number }) => number);
    assert.ok(numbers.length < lines.length, 'some were left out');
    assert.deepEqual([numbers[0], numbers[199], numbers.at(-1)], [0, 199, 1_599]);
  });

  test('stays readable in the archive and is deleted with its task', async () => {
    const clock = new VirtualClock();
    const bench = await newBench({ clock });
    const { engine } = bench;
    const id = await claimed(bench);
    await engine.appendLogs([chunk(id, 0, [line('kept')])]);
    await succeed(engine, [{ id, attempt: 1 }]);
    await clock.advance(2 * 3_600_000);
    assert.equal((await engine.retain(100)).archived, 1);
    assert.equal((await readAll(bench, id)).length, 1);
    await clock.advance(31 * 86_400_000);
    assert.equal((await engine.retain(100)).deleted, 1);
    assert.equal((await readAll(bench, id)).length, 0);
  });

  test('does not accept a line that is none', () => {
    for (const text of ['two\nlines', 'x'.repeat(8_193)]) {
      assert.throws(() => chunk(newId(), 0, [line(text)]), { code: 'VALIDATION_FAILED' });
    }
  });
});
