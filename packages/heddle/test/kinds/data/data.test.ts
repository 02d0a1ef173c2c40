import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject, JsonValue } from '@heddle/base/json';
import { createSharedData } from '@heddle/core/engine/data/shared-data';
import { dataKinds } from '../../../src/kinds/data/data-kinds.ts';
import { systemClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import type { Queryable } from '@heddle/core/store/database';
import { readForTemplates } from '@heddle/core/internal/store/upstream';
import { newBench, type Bench } from '@heddle/test-support/engine/fixture';
import { modelsOf } from '@heddle/test-support/engine/models/seen';
import { ended, startKinds, submit, type Outcome } from '@heddle/test-support/kinds/recon/run-workflow';
import { work } from '@heddle/test-support/kinds/notification/telling';

interface DataBench extends Bench {
  models: ReturnType<typeof modelsOf>;
  run: (...children: readonly JsonObject[]) => Promise<Outcome & { id: string; reasons: string[] }>;
}

type AllModels = ReturnType<typeof modelsOf>;

async function newDataBench(wrap: (models: AllModels) => AllModels = (models) => models): Promise<DataBench> {
  const bench = await newBench();
  const models = wrap(modelsOf(bench.database));
  const shared = createSharedData(bench);
  const kinds = [work, ...dataKinds({ models, shared, clock: systemClock })];
  const run: DataBench['run'] = async (...children) => {
    const stopping = startKinds(bench.engine, kinds);
    try {
      const id = await submit(bench.engine, { mode: 'sequential', children });
      const outcome = await ended(bench.engine, id);
      const { tasks: failed } = await bench.engine.listTasks({
        workflow_id: id,
        states: ['failed'],
        offset: 0,
        limit: 10,
      });
      return { id, ...outcome, reasons: failed.map(({ failure_reason }) => failure_reason ?? '') };
    } finally {
      await stopping.stop();
    }
  };
  return { ...bench, models, run };
}

const hosts = (...names: string[]): JsonValue[] => names.map((host, port) => ({ host, port }));

/** Returns the data of a workflow under these names. */
async function dataOf(database: Queryable, workflowId: string, names: string[]): Promise<Record<string, JsonValue>> {
  return (await readForTemplates(database, [{ workflow_id: workflowId, names: [], data: names }]).next()).data;
}

describe('InsertData', () => {
  it('stores values and lists that the whole workflow can read', async () => {
    const { run, database } = await newDataBench();
    const outcome = await run(
      { id: 'scan', kind: 'work', input: { result: { items: hosts('a', 'b', 'c') } } },
      { kind: 'InsertData', input: { name: 'threshold', data: 2 } },
      { kind: 'InsertData', input: { name: 'found', from: 'scan' } },
      { kind: 'InsertData', input: { name: 'found', items: hosts('d') } },
      {
        id: 'read',
        kind: 'work',
        input: { result: { $expr: 'data.found.filter(f, f.port < data.threshold).map(f, f.host)' } },
      },
    );
    assert.equal(outcome.state, 'succeeded', outcome.reasons.join());
    assert.deepEqual(outcome.results.find(({ local_id }) => local_id === 'read')!.data, ['a', 'b', 'd']);
    const held = await dataOf(database, outcome.id, ['found', 'none']);
    assert.deepEqual(held, { found: [...hosts('a', 'b', 'c'), ...hosts('d')] });
  });

  it('replaces what an earlier attempt stored, and keeps what a later one did', async () => {
    const { database } = await newDataBench();
    const shared = createSharedData({ database });
    const entry = { workflow_id: newId(), name: 'found', task_id: newId(), list: true };
    await shared.put({ ...entry, attempt: 1, data: [1, 2] });
    await shared.put({ ...entry, attempt: 2, data: [3] });
    await shared.put({ ...entry, attempt: 2, data: [3] });
    await assert.rejects(shared.put({ ...entry, attempt: 1, data: [1, 2] }), { code: 'CONFLICT' });
    assert.deepEqual(await dataOf(database, entry.workflow_id, ['found']), { found: [3] });
  });

  it('rejects a mix of value and list, invalid names, and excessive data', async () => {
    const { run } = await newDataBench();
    const mixed = await run(
      { kind: 'InsertData', input: { name: 'x', data: 1 } },
      { kind: 'InsertData', input: { name: 'x', items: [1] } },
    );
    assert.match(mixed.reasons[0]!, /"x" holds a value/);
    const named = await run({ kind: 'InsertData', input: { name: 'a-b', data: 1 } });
    assert.match(named.reasons[0]!, /name: must be letters, digits and _/);
    const unknown = await run({ kind: 'InsertData', input: { name: 'x', from: 'nobody' } });
    assert.match(unknown.reasons[0]!, /no node named "nobody"/);
  });
});

describe('Filter', () => {
  it('keeps matching items, given or from below a container', async () => {
    const { run } = await newDataBench();
    const outcome = await run(
      {
        id: 'scans',
        mode: 'parallel',
        children: [
          { kind: 'work', input: { result: { items: hosts('a', 'b') } } },
          { kind: 'work', input: { result: hosts('c', 'd', 'e') } },
          { kind: 'work', input: { result: { port: 9 } } },
        ],
      },
      { kind: 'Filter', input: { from: 'scans', where: 'item.port >= params.min', params: { min: 1 } } },
    );
    assert.equal(outcome.state, 'succeeded', outcome.reasons.join());
    const { items, ...counts } = outcome.of('Filter')!;
    assert.deepEqual(counts, { matched: 4, total: 6, omitted: 0 });
    assert.deepEqual((items as JsonObject[]).map(({ port }) => port).sort(), [1, 1, 2, 9]);
  });

  it('limits its result and reports what it leaves out', async () => {
    const { run } = await newDataBench();
    const large = Array.from({ length: 30 }, (_, n) => ({ n, text: 'x'.repeat(1000) }));
    const scans = Array.from({ length: 60 }, () => ({ kind: 'work', input: { result: large } }));
    const outcome = await run(
      { id: 'scans', mode: 'parallel', children: scans },
      { kind: 'Filter', input: { from: 'scans', where: 'true' } },
    );
    const { items, matched, omitted } = outcome.of('Filter')!;
    assert.equal(matched, 1800);
    assert.equal((items as unknown[]).length + (omitted as number), 1800);
    assert.ok((items as unknown[]).length > 1000, 'about a mebibyte of them');
  });

  it('fails if the expression fails or is not a boolean', async () => {
    const { run } = await newDataBench();
    const items = hosts('a');
    const syntax = await run({ kind: 'Filter', input: { items, where: 'item.' } });
    assert.match(syntax.reasons[0]!, /where: /);
    const missing = await run({ kind: 'Filter', input: { items, where: 'item.none == 1' } });
    assert.match(missing.reasons[0]!, /none/);
    const number = await run({ kind: 'Filter', input: { items, where: 'item.port' } });
    assert.match(number.reasons[0]!, /must be true or false for every item, not 0/);
    const elsewhere = await run({ kind: 'Filter', input: { items, where: 'port == 443' } });
    assert.match(elsewhere.reasons[0]!, /where: "port" is not known here; write item\.port \(character 1 of/);
    const deep = await run({ kind: 'Filter', input: { items, where: 'data.port == 443' } });
    assert.match(deep.reasons[0]!, /where: "data\.port" is not known here; write item\.data\.port/);
  });
});

describe('models', () => {
  const upsert = (items: readonly JsonValue[], extra: JsonObject = {}): JsonObject => ({
    kind: 'UpsertModels',
    input: { target: 'office', model: 'device', key: ['host'], items: [...items], ...extra },
  });

  it('are merged run by run: new, changed, known and gone', async () => {
    const { run } = await newDataBench();
    const countsOf = (outcome: Outcome): unknown[] => {
      const result = outcome.of('UpsertModels')!;
      return [result['run'], result['new'], result['changed'], result['known'], result['gone']];
    };
    assert.deepEqual(countsOf(await run(upsert(hosts('a', 'b', 'c')))), [1, 3, 0, 0, 0]);
    const second = await run(upsert([...hosts('a', 'x'), { host: 'b', port: 7 }]));
    assert.deepEqual(countsOf(second), [2, 1, 1, 1, 0]);
    const third = await run(upsert(hosts('a'), { complete: true }), {
      kind: 'FilterChanges',
      input: { model: 'device' },
    });
    assert.deepEqual(countsOf(third), [3, 0, 0, 1, 3]);
    const changes = third.of('FilterChanges')!;
    assert.deepEqual(
      (changes['items'] as JsonObject[]).map(({ key, state }) => `${key as string} ${state as string}`).sort(),
      ['b gone', 'c gone', 'x gone'],
    );
    const fourth = await run(upsert(hosts('a', 'n')), {
      kind: 'FilterChanges',
      input: { target: 'office', states: ['new'], where: 'item.data.port > 0' },
    });
    assert.deepEqual(
      (fourth.of('FilterChanges')!['items'] as JsonObject[]).map(({ key }) => key),
      ['n'],
    );
  });

  it("come from a node's result, with keys by an expression; items without a key are skipped and reported", async () => {
    const { run, models } = await newDataBench();
    const outcome = await run(
      { id: 'scan', kind: 'work', input: { result: [...hosts('a', 'b'), { port: 1 }, 5] } },
      {
        kind: 'UpsertModels',
        input: {
          target: 't',
          model: 'device',
          key: 'item.host + params.suffix',
          params: { suffix: '!' },
          from: 'scan',
        },
      },
    );
    const result = outcome.of('UpsertModels')!;
    assert.deepEqual([result['items'], result['new'], result['refused']], [4, 2, 2]);
    const listed = await models.list({ target: 't' }, { after: null, limit: 10 });
    assert.deepEqual(listed.map(({ key }) => key).sort(), ['a!', 'b!']);
  });

  it('are identified by each of several members, whatever their values', async () => {
    const { run, models } = await newDataBench();
    const parts = [
      { a: 'x|y', b: 'z' },
      { a: 'x', b: 'y|z' },
      { a: 'x\\', b: 'y' },
    ];
    const result = (await run(upsert(parts, { key: ['a', 'b'] }))).of('UpsertModels')!;
    assert.equal(result['new'], 3);
    const listed = await models.list({ target: 'office' }, { after: null, limit: 10 });
    assert.deepEqual(listed.map(({ key }) => key).sort(), ['x\\\\|y', 'x\\|y|z', 'x|y\\|z']);
  });

  it('are the same after a failed attempt and a retry', async () => {
    const { run, models } = await newDataBench((inner) => {
      let dies = true;
      return {
        ...inner,
        merge: async (id, page) => {
          await inner.merge(id, page);
          // Stored, but the attempt never sees the confirmation.
          if (!dies) return;
          dies = false;
          throw new Error('the connection is lost');
        },
      };
    });
    const retry = { max_attempts: 2, backoff_secs: 0 };
    const outcome = await run({ ...upsert(hosts('a', 'b')), retry });
    assert.equal(outcome.state, 'succeeded', outcome.reasons.join());
    const result = outcome.of('UpsertModels')!;
    assert.deepEqual([result['run'], result['new'], result['known']], [1, 2, 0]);
    const [target] = await models.targets({ offset: 0, limit: 10 });
    assert.equal(target!.runs, 1);
  });

  it('are listed and filtered, with limits', async () => {
    const { run } = await newDataBench();
    const many = Array.from({ length: 1200 }, (_, n) => ({ host: `h${n}`, port: n }));
    for (let at = 0; at < many.length; at += 600) await run(upsert(many.slice(at, at + 600)));
    const outcome = await run(
      { kind: 'ListModels', input: { model: 'device', limit: 7 } },
      { kind: 'FilterModels', input: { model: 'device', where: 'item.data.port % 100 == 0' } },
    );
    assert.equal(outcome.state, 'succeeded', outcome.reasons.join());
    const listed = outcome.of('ListModels')!;
    assert.deepEqual([(listed['items'] as unknown[]).length, listed['matched'], listed['omitted']], [7, 1200, 1193]);
    const filtered = outcome.of('FilterModels')!;
    assert.deepEqual([filtered['matched'], filtered['total'], filtered['omitted']], [12, 1200, 0]);
    const names = await run({
      kind: 'FilterModels',
      input: {
        model: 'device',
        where:
          'data.port == params.port && item.data.port == data.port && key == item.key && ' +
          'timestamp(item.last_seen) == last_seen && now - last_seen < duration("1h")',
        params: { port: 7 },
      },
    });
    assert.equal(names.of('FilterModels')!['matched'], 1, names.reasons.join());
    const elsewhere = await run({ kind: 'FilterModels', input: { model: 'device', where: 'port == 7' } });
    assert.match(elsewhere.reasons[0]!, /where: "port" is not known here; write item\.data\.port/);
    const missing = await run({ kind: 'FilterModels', input: { model: 'device' } });
    assert.match(missing.reasons[0]!, /where: is required/);
  });
});
