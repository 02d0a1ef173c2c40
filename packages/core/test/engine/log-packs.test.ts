/** Logs that come with the reports of their attempts, packed for all reports of a set. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';

import { VirtualClock } from '@heddle/base/clock';
import { encodeLines } from '@heddle/base/log-lines';
import { LogSlabWriter, type SlabLog } from '@heddle/base/log-slab';
import { REPORTED_CHARS_MAX, type LogLine, type LogPage } from '@heddle/base/vocabulary/task-log';
import type { Report } from '@heddle/core/engine/port';
import { claimKind, newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';
import type { Statement } from '../../src/store/database.ts';

const PACKS: Statement = {
  name: 'test.log_packs',
  text: `select (select count(*)::integer from heddle.log_pack) as packs,
    (select coalesce(sum(entries), 0)::integer from heddle.log_pack) as entries,
    (select count(*)::integer from heddle.task_all where log_pack is not null) as tasks,
    (select count(*)::integer from heddle.task_log where pack is not null) as rows,
    (select count(*)::integer from heddle.task_log where data is not null) as chunks`,
};
const RETRY = { max_attempts: 3, base_ms: 1, factor: 1, max_ms: 1, jitter: 0 };

interface PackCounts {
  packs: number;
  entries: number;
  tasks: number;
  rows: number;
  chunks: number;
}

async function counted({ database }: Bench): Promise<PackCounts> {
  return (await database.query<PackCounts>(PACKS))[0]!;
}

const lineOf = (text: string): LogLine => ({ at: 1_700_000_000_000, stream: 'stdout', level: null, text });

async function readTexts({ engine }: Bench, id: string, attempt: number | null, limit = 1_000): Promise<string[]> {
  const texts: string[] = [];
  for (let from = 0; ;) {
    const page: LogPage | null = await engine.readLogs(id, { attempt, from, tail: null, limit });
    if (page === null || page.lines.length === 0) return texts;
    for (const { number, text } of page.lines) {
      assert.equal(number, texts.length, `line ${texts.length} of ${id} comes as ${number}`);
      texts.push(text);
    }
    from = page.next;
  }
}

/** Reports with logs, as a worker sends them. */
class Reporter {
  readonly #slabs = new LogSlabWriter();

  logOf(task_id: string, attempt: number, lines: readonly LogLine[]): SlabLog {
    return this.#slabs.write(task_id, attempt, encodeLines(lines));
  }

  report(task_id: string, attempt: number, texts: readonly string[], extra: Partial<Report> = {}): Report {
    const log = texts.length === 0 ? {} : { log: this.logOf(task_id, attempt, texts.map(lineOf)) };
    return { task_id, attempt, outcome: 'succeeded', ...log, ...extra };
  }
}

/** Submits tasks and claims their first attempts. */
async function claimed({ engine }: Bench, count: number): Promise<string[]> {
  const { tasks } = await submitTasks(
    engine,
    Array.from({ length: count }, () => newTask({ retry: RETRY })),
  );
  assert.equal((await claimKind(engine)).length, count);
  return tasks.map(({ id }) => id);
}

const someText = fc
  .oneof(
    fc.constant(''),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('x'.repeat(200), 'ü'.repeat(150), '🧵 thread', ' 1'),
  )
  .map((text) => text.toWellFormed().replaceAll(/[\n\r\0]/g, ''));

/** What one attempt of one task does. */
const someEnd = fc.record({
  texts: fc.array(someText, { maxLength: 8 }),
  outcome: fc.constantFrom('succeeded', 'succeeded', 'failed', 'canceled'),
  /** Logged after the end. */
  late: fc.array(someText, { maxLength: 2 }),
  hasResult: fc.boolean(),
});

describe('logs that come with reports', { concurrency: false }, () => {
  test('are read as they were written, whatever the set, its outcomes and its repetitions', async () => {
    const clock = new VirtualClock();
    const bench = await newBench({ clock });
    const { engine } = bench;
    const reporter = new Reporter();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(someEnd, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 0, max: 2 }),
        async (tasks, repetitions) => {
          const ids = await claimed(bench, tasks.length);
          const planOf = new Map(ids.map((id, index) => [id, tasks[index]!]));
          const expected = new Map<string, string[]>();
          let running: { id: string; attempt: number }[] = ids.map((id) => ({ id, attempt: 1 }));
          while (running.length > 0) {
            const ends = running.map(({ id, attempt }) => ({ id, attempt, ...planOf.get(id)![attempt - 1]! }));
            const canceled = ends.filter(({ outcome }) => outcome === 'canceled').map(({ id }) => id);
            if (canceled.length > 0) await engine.cancel(canceled, 'no longer wanted');
            const reports = ends.map(({ id, attempt, texts, outcome, hasResult }) => {
              const failed = { outcome: 'failed', reason: 'it failed' } as const;
              const extra = outcome === 'succeeded' ? (hasResult ? { result: { id } } : {}) : failed;
              return reporter.report(id, attempt, texts, extra);
            });
            for (let time = 0; time <= repetitions; time += 1) await engine.report(reports);
            for (const { id, attempt, texts, late } of ends) {
              const chunk = { task_id: id, attempt, first_line: texts.length };
              await engine.appendLogs([{ ...chunk, ...encodeLines(late.map(lineOf)) }]);
              expected.set(`${id} ${attempt}`, [...texts, ...late]);
            }
            await clock.advance(10);
            await engine.sweep();
            running = (await claimKind(engine)).map(({ id, attempt }) => ({ id, attempt }));
          }
          for (const [key, texts] of expected) {
            const [id, attempt] = key.split(' ');
            assert.deepEqual(await readTexts(bench, id!, Number(attempt), 3), texts, `attempt ${attempt} of ${id}`);
          }
          const { entries, tasks: pointing, rows } = await counted(bench);
          assert.equal(entries, pointing + rows, 'a pack counts exactly what refers to it');
        },
      ),
      { numRuns: 40 },
    );
  });

  test('cost a set one pack and no row of their own', async () => {
    const bench = await newBench();
    const reporter = new Reporter();
    const ids = await claimed(bench, 50);
    await bench.engine.report(ids.map((id) => reporter.report(id, 1, ['one', `two of ${id}`])));
    assert.deepEqual(await counted(bench), { packs: 1, entries: 50, tasks: 50, rows: 0, chunks: 0 });
    assert.deepEqual(await readTexts(bench, ids[17]!, null), ['one', `two of ${ids[17]}`]);
    const tail = await bench.engine.readLogs(ids[17]!, { attempt: null, from: null, tail: 1, limit: 10 });
    assert.deepEqual([tail!.attempt, tail!.lines.map(({ number }) => number), tail!.next], [1, [1], 2]);
  });

  test('leave nothing behind for tasks that logged nothing', async () => {
    const bench = await newBench();
    const reporter = new Reporter();
    const silent = await claimed(bench, 5);
    await bench.engine.report(silent.map((id) => reporter.report(id, 1, [])));
    assert.deepEqual(await counted(bench), { packs: 0, entries: 0, tasks: 0, rows: 0, chunks: 0 });
    const mixed = await claimed(bench, 5);
    await bench.engine.report(mixed.map((id, index) => reporter.report(id, 1, index === 2 ? ['mine'] : [])));
    assert.deepEqual(await counted(bench), { packs: 1, entries: 1, tasks: 1, rows: 0, chunks: 0 });
    assert.equal(await bench.engine.readLogs(mixed[1]!, { attempt: null, from: null, tail: null, limit: 1 }), null);
    assert.deepEqual(await readTexts(bench, mixed[2]!, null), ['mine']);
  });

  test('are stored beside a pack if they do not fit into it', async () => {
    const bench = await newBench();
    const reporter = new Reporter();
    const ids = await claimed(bench, 200);
    const texts = ['ü'.repeat(REPORTED_CHARS_MAX - 20)];
    await bench.engine.report(ids.map((id) => reporter.report(id, 1, texts)));
    const { packs, tasks, chunks } = await counted(bench);
    assert.equal(packs, 1);
    assert.ok(tasks > 100 && chunks > 50 && tasks + chunks === 200, `${tasks} in the pack, ${chunks} beside it`);
    for (const id of [ids[0]!, ids[99]!, ids[100]!, ids[199]!])
      assert.deepEqual(await readTexts(bench, id, null), texts);
  });

  test('go with the last of their tasks', async () => {
    const clock = new VirtualClock();
    const bench = await newBench({ clock });
    const { engine } = bench;
    const reporter = new Reporter();
    const [first, second, third] = [await claimed(bench, 3), await claimed(bench, 2), await claimed(bench, 1)];
    // The last workflow goes on after the report of one of its attempts.
    await engine.report([
      ...[...first, ...second].map((id) => reporter.report(id, 1, [`of ${id}`])),
      reporter.report(third[0]!, 1, ['the first'], { outcome: 'failed', reason: 'once' }),
    ]);
    assert.deepEqual(await counted(bench), { packs: 1, entries: 6, tasks: 5, rows: 1, chunks: 0 });
    await clock.advance(2 * 3_600_000);
    assert.equal((await engine.retain(100)).archived, 5);
    assert.deepEqual(await readTexts(bench, first[0]!, null), [`of ${first[0]}`]);
    await engine.sweep();
    assert.equal((await claimKind(engine)).length, 1);
    await clock.advance(31 * 86_400_000);
    assert.equal((await engine.retain(100)).deleted, 5);
    assert.deepEqual(await counted(bench), { packs: 1, entries: 1, tasks: 0, rows: 1, chunks: 0 });
    await engine.report([reporter.report(third[0]!, 2, ['the second'])]);
    assert.deepEqual(await counted(bench), { packs: 2, entries: 2, tasks: 0, rows: 2, chunks: 0 });
    assert.deepEqual(await readTexts(bench, third[0]!, 1), ['the first']);
    assert.deepEqual(await readTexts(bench, third[0]!, null), ['the second']);
    await clock.advance(31 * 86_400_000);
    await engine.retain(100);
    assert.deepEqual(await counted(bench), { packs: 0, entries: 0, tasks: 0, rows: 0, chunks: 0 });
  });
});
