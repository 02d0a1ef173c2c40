import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { StandardSchemaV1 } from '@standard-schema/spec';
import * as z from 'zod';

import { defineKind, PartialFailure, type StandardSchema } from '@heddle/kit';
import { Completion } from '../../../src/dispatch/kind/completion.ts';
import { NO_RESULTS, pagedResults } from '../../../src/dispatch/kind/result-stream.ts';
import { runKind } from '../../../src/dispatch/kind/run-kind.ts';
import { silentLogger } from '@heddle/base/log';
import { kindTask, resultsOf, runOnce } from '../../support/dispatch/kind/running.ts';

/**
 * A handwritten Standard Schema: an even number under `n`, given as a string or a number; it validates asynchronously.
 */
const evenNumber: StandardSchema<{ n: string | number }, { n: number }> = {
  '~standard': {
    version: 1,
    vendor: 'by hand',
    validate: async (value) => {
      const n = Number((value as { n?: unknown }).n);
      await Promise.resolve();
      return n % 2 === 0 ? { value: { n } } : { issues: [{ message: 'must be even', path: [{ key: 'n' }] }] };
    },
  },
};

describe('the input of a kind', () => {
  const Host = z.object({ host: z.string(), ports: z.array(z.number().int()).default([443]) });
  const kind = defineKind({
    name: 'TcpSyn',
    input: Host,
    // The types of the schema's output reach the handler.
    run: ({ host, ports }: { host: string; ports: number[] }) => ({ target: `${host}:${ports.join(',')}` }),
  });

  it('is the output of the schema', async () => {
    const { completion } = await runOnce(kind, { input: { host: 'a' } });
    assert.deepEqual(completion.result, { target: 'a:443' });
  });

  it('fails the task if it is invalid, naming the fields, without calling the handler', async () => {
    let called = false;
    const strict = defineKind({ name: 'strict', input: Host, run: () => void (called = true) });
    const { completion } = await runOnce(strict, { input: { ports: [1, 'x'] } });
    assert.equal(completion.outcome, 'failed');
    assert.equal(completion.final, true);
    assert.match(completion.reason!, /^the input is invalid: input\.host: .+; input\.ports\[1\]: .+/);
    assert.equal(called, false);
  });

  it('can be described by any Standard Schema, even an asynchronous one', async () => {
    const own = defineKind({ name: 'own', input: evenNumber, run: ({ n }) => n / 2 });
    assert.equal((await runOnce(own, { input: { n: '8' } })).completion.result, 4);
    const { reason } = (await runOnce(own, { input: { n: 3 } })).completion;
    assert.equal(reason, 'the input is invalid: input.n: must be even');
  });

  it('has the types of the specification', () => {
    const ours = (schema: StandardSchema): StandardSchema => schema;
    const theirs = Host satisfies StandardSchemaV1;
    assert.equal(ours(theirs satisfies StandardSchemaV1)['~standard'].vendor, 'zod');
  });

  it('fails the task if the schema itself throws', async () => {
    const broken = z.string().transform(() => {
      throw new Error('no such table');
    });
    const kindOfBroken = defineKind({ name: 'broken', input: z.object({ a: broken }), run: () => 1 });
    const { completion } = await runOnce(kindOfBroken, { input: { a: 'x' } });
    assert.deepEqual([completion.outcome, completion.reason], ['failed', 'no such table']);
  });
});

describe('the end of a run', () => {
  it('needs no promise if the handler needs none', () => {
    const kind = defineKind({ name: 'quick', run: (input) => input['n'] });
    const { signal } = new AbortController();
    const host = {
      log: silentLogger,
      output: () => undefined,
      progress: () => Promise.resolve(),
      signal,
      traceparent: null,
    };
    const ports = { nodes: { send: () => Promise.resolve() }, results: NO_RESULTS };
    const ended = runKind(kind, kindTask('quick', { input: { n: 7 } }), host, ports);
    assert.ok(ended instanceof Completion);
    assert.deepEqual([ended.outcome, ended.result, ended.expected_created], ['succeeded', 7, undefined]);
  });

  it('is a failure with the reason if the handler throws or rejects, with any value', async () => {
    const thrown: [unknown, string][] = [
      [new Error('no such file'), 'no such file'],
      [new TypeError(''), 'TypeError'],
      ['a text', 'a text'],
      [undefined, 'undefined'],
    ];
    for (const [error, reason] of thrown) {
      for (const run of [
        () => {
          throw error;
        },
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- whatever it rejects with
        () => Promise.reject(error),
      ]) {
        const { completion } = await runOnce(defineKind({ name: 'throws', run }));
        assert.deepEqual([completion.outcome, completion.reason], ['failed', reason]);
      }
    }
  });

  it('is a partial failure if the handler throws one, with its result', async () => {
    const kind = defineKind({
      name: 'partly',
      run: () => Promise.reject(new PartialFailure('2 of 3 hosts answered', { result: { hosts: 2 } })),
    });
    const { outcome, reason, result } = (await runOnce(kind)).completion;
    assert.deepEqual([outcome, reason, result], ['partially_failed', '2 of 3 hosts answered', { hosts: 2 }]);
  });

  it('rejects results that JSON would change or lose, and says where', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const refused: [unknown, RegExp][] = [
      [{ at: [new Date(0)] }, /^the result\.at\[0\]: is a Date, which JSON cannot represent/],
      [new Map([[1, 2]]), /^the result: is a Map/],
      [{ n: 1n }, /^the result\.n: is a bigint/],
      [{ n: Number.NaN }, /^the result\.n: is NaN/],
      [[undefined], /^the result\[0\]: is an undefined/],
      [() => 1, /^the result: is a function/],
      [cyclic, /nested more than 200 levels deep, or is circular$/],
      ['\u0000', /NUL/],
      [{ text: '\ud800' }, /surrogate/],
      ['x'.repeat(1024 * 1024), /has 1048578 bytes as JSON; at most 1048576 are allowed$/],
    ];
    for (const [value, reason] of refused) {
      const { completion } = await runOnce(defineKind({ name: 'odd', run: () => value }));
      assert.equal(completion.outcome, 'failed');
      assert.match(completion.reason!, reason);
    }
  });

  it('keeps everything that JSON keeps; undefined members are omitted', async () => {
    const result = {
      a: [1, 'x', null, true],
      b: { c: undefined },
      d: Object.assign(Object.create(null), { e: 1 }) as unknown,
    };
    const { completion } = await runOnce(defineKind({ name: 'plain', run: () => result }));
    assert.deepEqual(completion.result, { a: [1, 'x', null, true], b: {}, d: { e: 1 } });
  });
});

describe('the context of a handler', () => {
  it('can be destructured', async () => {
    const kind = defineKind({
      name: 'apart',
      run: async (_, { task, attempt, progress, log, signal }) => {
        await progress(3, 1);
        await progress(2);
        log.info({}, 'counted');
        return { id: task.id, kind: task.kind, attempt, aborted: signal.aborted };
      },
    });
    const { completion, counted } = await runOnce(kind, { task: { id: 'task-1', attempt: 4 } });
    assert.deepEqual(completion.result, { id: 'task-1', kind: 'apart', attempt: 4, aborted: false });
    assert.deepEqual(counted, [
      [3, 1],
      [2, 0],
    ]);
  });

  it('logs messages with fields and without', async () => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    const log = { debug: write, info: write, warn: write, error: write, child: () => log };
    const kind = defineKind({
      name: 'talkative',
      run: (_, context) => {
        context.log.info('begins');
        context.log.warn({ ms: 812 }, 'is slow');
        return Promise.resolve(null);
      },
    });
    await runOnce(kind, { host: { log } });
    assert.deepEqual(lines, [
      [{}, 'begins'],
      [{ ms: 812 }, 'is slow'],
    ]);
  });

  it('does not create the signal for a handler that does not use it', async () => {
    let asked = 0;
    const host = {
      get signal() {
        asked += 1;
        return new AbortController().signal;
      },
    };
    await runOnce(defineKind({ name: 'deaf', run: async () => Promise.resolve(1) }), { host });
    assert.equal(asked, 0);
  });

  it('streams earlier results page by page, large ones in small pages', async () => {
    const stored = resultsOf(2500, (n) => ({ n, blob: 'x'.repeat(n < 1500 ? 1 : 100_000) }));
    const pages: number[] = [];
    const results = pagedResults((_task, after, limit) => {
      const from = after === null ? 0 : stored.findIndex(({ task_id }) => task_id === after) + 1;
      const page = stored.slice(from, from + limit);
      pages.push(page.length);
      return Promise.resolve(page);
    });
    const kind = defineKind({
      name: 'Aggregator',
      run: async (_, { results: earlier }) => {
        let sum = 0;
        for await (const { data } of earlier<{ n: number }>()) sum += data.n;
        return sum;
      },
    });
    const { completion } = await runOnce(kind, { ports: { results } });
    assert.equal(completion.result, (2500 * 2499) / 2);
    assert.equal(
      pages.reduce((sum, page) => sum + page, 0),
      2500,
    );
    assert.ok(Math.max(...pages) <= 1000, String(pages));
    // 100 KB each: pages of about 2 MB.
    assert.ok(Math.max(...pages.slice(5)) <= 25, String(pages));
  });

  it('stops reading results when the task is canceled', async () => {
    const stop = new AbortController();
    const stored = resultsOf(500, () => 1);
    const kind = defineKind({
      name: 'Aggregator',
      run: async (_, { results: earlier }) => {
        for await (const _each of earlier()) stop.abort(new Error('the task has ended'));
      },
    });
    const results = pagedResults(() => Promise.resolve(stored.slice(0, 200)));
    const { completion } = await runOnce(kind, { host: { signal: stop.signal }, ports: { results } });
    assert.deepEqual([completion.outcome, completion.reason], ['failed', 'the task has ended']);
  });
});

describe('a definition', () => {
  const run = (): number => 1;

  it('is rejected for an invalid option', () => {
    assert.throws(() => defineKind({ name: '', run }), /name must have 1 to 100/);
    assert.throws(() => defineKind({ name: 'x'.repeat(101), run }), /name must have 1 to 100/);
    assert.throws(() => defineKind({ name: 'x', run: 1 as never }), /defineKind\(x\): run must be a function/);
    assert.throws(() => defineKind({ name: 'x', input: {} as never, run }), /must be a Standard Schema/);
    assert.throws(() => defineKind({ name: 'x', run, concurrency: 0 }), /concurrency must be a whole number/);
    assert.throws(() => defineKind({ name: 'x', run, timeout_secs: 90_000 }), /timeout_secs must be .* 86400/);
    assert.throws(() => defineKind({ name: 'x', run, retry: { max_attempts: 0 } }), /retry\.max_attempts/);
  });

  it('is a generator by its name, by its function, or by its option', () => {
    assert.equal(defineKind({ name: 'HostGenerator', run }).generator, true);
    assert.equal(defineKind({ name: 'Hosts', *run() {} }).generator, true);
    assert.equal(defineKind({ name: 'Hosts', async *run() {} }).generator, true);
    assert.equal(defineKind({ name: 'Hosts', run, generator: true }).generator, true);
    assert.equal(defineKind({ name: 'Hosts', run }).generator, false);
    assert.equal(defineKind({ name: 'ElectricGenerator', run, generator: false }).generator, false);
  });
});
