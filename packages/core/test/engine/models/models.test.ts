/** Models over many runs, on a real database. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import type { ModelBooks, Models } from '../../../src/engine/models/port.ts';
import type { ModelRun, ReportedModel } from '../../../src/domain/model-record.ts';
import { newId } from '@heddle/base/random';
import type { Database } from '../../../src/store/database.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { findingsOf } from '@heddle/test-support/engine/findings/reported';
import { host, modelsOf, runOf } from '@heddle/test-support/engine/models/seen';

const ALL = { after: null, limit: 10_000 };

const countsOf = (run: ModelRun): number[] => [run.new, run.changed, run.known, run.gone];

describe('models over runs', () => {
  let database: Database;
  let models: Models & ModelBooks;

  before(async () => {
    ({ database } = await createTestDatabase());
    models = modelsOf(database);
  });

  const one = async (target: string, key = host(1).key) => {
    const [found] = await models.list({ target, key_prefix: key }, ALL);
    assert.ok(found !== undefined && found.key === key);
    return found;
  };

  async function statesOf(target: string): Promise<Record<string, string>> {
    const listed = await models.list({ target }, ALL);
    return Object.fromEntries(listed.map(({ key, state }) => [key, state]));
  }

  it('are new, then known or changed, gone when a complete run misses them, new when they return', async () => {
    const target = 'story';
    const first = await runOf(models, target, [host(1, { os: 'a', kept: 1 }), host(2)]);
    assert.deepEqual([first.number, ...countsOf(first)], [1, 2, 0, 0, 0]);
    const second = await runOf(models, target, [host(1, { os: 'b', kept: 1, added: true }), host(3)]);
    assert.deepEqual([second.number, ...countsOf(second)], [2, 1, 1, 0, 1]);
    assert.deepEqual(second.by_model, [{ model: 'host', new: 1, changed: 1, known: 0, gone: 1 }]);
    const changed = await one(target);
    assert.deepEqual(changed.changes, [
      { field: 'added', old: null, new: true },
      { field: 'os', old: 'a', new: 'b' },
    ]);
    assert.deepEqual(
      [changed.first_seen, changed.last_seen, changed.changed_at, changed.runs],
      [first.started_at, second.started_at, second.started_at, 2],
    );
    const gone = await one(target, host(2).key);
    assert.deepEqual([gone.state, gone.gone_at, gone.changed_at], ['gone', second.started_at, second.started_at]);
    const third = await runOf(models, target, [host(1, { os: 'b', kept: 1, added: true }), host(2), host(3)]);
    assert.deepEqual(countsOf(third), [1, 0, 2, 0]);
    const known = await one(target);
    assert.deepEqual([known.state, known.changed_run, known.changes.length], ['known', 2, 2], 'the last change stays');
    const returned = await one(target, host(2).key);
    assert.deepEqual([returned.state, returned.gone_at, returned.first_seen], ['new', null, first.started_at]);
    const fourth = await runOf(models, target, [host(1, { kept: 1 }), host(2), host(3)]);
    assert.deepEqual(countsOf(fourth), [0, 1, 2, 0]);
    assert.deepEqual(
      (await one(target)).changes.map(({ field, old }) => [field, old]),
      [
        ['added', true],
        ['os', 'b'],
      ],
    );
    const changes = await models.runChanges(fourth.id, 100);
    assert.deepEqual(
      changes.map(({ key, state }) => [key, state]),
      [[host(1).key, 'changed']],
    );
  });

  it('are gone by model, and never because of a run that left something out', async () => {
    const service = { model: 'service', key: '10.0.0.1:22/tcp', data: {} };
    await runOf(models, 'partial', [host(1), service], { covers: ['host', 'service'] });
    const left = await runOf(models, 'partial', [], { complete: false, covers: ['host', 'service'] });
    assert.deepEqual([left.complete, ...countsOf(left)], [false, 0, 0, 0, 0]);
    const hosts = await runOf(models, 'partial', [], { covers: ['host'] });
    assert.equal(hosts.gone, 1);
    assert.deepEqual(await statesOf('partial'), { '10.0.0.1': 'gone', '10.0.0.1:22/tcp': 'new' });
    const none = await runOf(models, 'partial', [], { covers: [] });
    assert.equal(none.gone, 0);
    assert.deepEqual(await statesOf('elsewhere'), {}, 'a target of its own');
  });

  it('are counted once a run, however often it merges them, and in whatever order', async () => {
    const earlier = [host(1, { names: ['a', 'b'], os: 'x' }), host(4, { os: 'old' })];
    await runOf(models, 'again', earlier);
    await runOf(models, 'again', [host(1, { names: ['a'], os: 'x' }), host(4, { os: 'old' })]);
    const pages = [
      [host(1, { names: ['b'], os: 'x' }), host(2), host(2, { ports: [22] })],
      [host(1, { names: ['a'], os: 'x' })],
      [host(4, { os: 'new', names: ['z', 'z', 'a'] }), host(2, { ports: [443, 22], os: null })],
    ];
    const id = newId();
    const seen = [];
    for (const order of [pages, [...pages].reverse(), [pages[1]!, pages[0]!, pages[2]!]]) {
      const { run, open } = await models.beginRun(id, 'again');
      assert.deepEqual([run.number, open], [3, true]);
      for (const page of order) await models.merge(id, page);
      const ended = await models.finishRun(id, { complete: true, covers: ['host'] });
      assert.deepEqual(countsOf(ended), [1, 2, 0, 0]);
      seen.push((await models.list({ target: 'again' }, ALL)).map(({ id: _, ...rest }) => rest));
    }
    assert.deepEqual(seen[1], seen[0]);
    assert.deepEqual(seen[2], seen[0]);
    assert.deepEqual((await one('again')).changes, [{ field: 'names', old: ['a'], new: ['a', 'b'] }]);
    assert.deepEqual((await one('again', host(2).key)).data, { names: [], ports: [22, 443], os: null });
    assert.equal((await one('again', host(2).key)).runs, 1);
  });

  it('are known where the parts of what a run saw come to what was there before, and keep their last change', async () => {
    await runOf(models, 'parts', [host(1, { names: ['a'] })]);
    await runOf(models, 'parts', [host(1, { names: ['a', 'b'] })]);
    const second = await one('parts');
    const id = newId();
    await models.beginRun(id, 'parts');
    await models.merge(id, [host(1, { names: ['b'] })]);
    const half = await one('parts');
    assert.deepEqual([half.state, half.changes], ['changed', [{ field: 'names', old: ['a', 'b'], new: ['b'] }]]);
    await models.merge(id, [host(1, { names: ['a'] })]);
    const run = await models.finishRun(id, { complete: true, covers: ['host'] });
    assert.deepEqual(countsOf(run), [0, 0, 1, 0]);
    const whole = await one('parts');
    assert.deepEqual(
      [whole.state, whole.changed_run, whole.changed_at, whole.changes],
      ['known', 2, second.changed_at, [{ field: 'names', old: ['a'], new: ['a', 'b'] }]],
    );
  });

  it('of a run that a later one overtook are judged by the later one', async () => {
    const [slow, fast] = [newId(), newId()];
    await models.beginRun(slow, 'overtaken');
    await models.merge(slow, [host(1)]);
    await runOf(models, 'overtaken', [host(2, { os: 'later' })], { id: fast });
    assert.deepEqual(await statesOf('overtaken'), { '10.0.0.1': 'gone', '10.0.0.2': 'new' });
    await models.merge(slow, [host(1, { os: 'x' }), host(2, { os: 'earlier' }), host(3)]);
    await models.finishRun(slow, { complete: true, covers: ['host'] });
    assert.deepEqual(await statesOf('overtaken'), { '10.0.0.1': 'gone', '10.0.0.2': 'new', '10.0.0.3': 'gone' });
    assert.deepEqual((await one('overtaken', host(2).key)).data['os'], 'later');
    const { open } = await models.beginRun(slow, 'overtaken');
    assert.equal(open, false, 'what ended and was overtaken is history');
    await assert.rejects(models.beginRun(slow, 'another'), { code: 'CONFLICT' });
  });

  it('merge at the same time, one run twice and others beside it, without losing any', async () => {
    const hosts = Array.from({ length: 2500 }, (_, n) => host(n));
    const halves = (id: string) => [
      models.merge(
        id,
        hosts.map((each) => ({ ...each, data: { names: ['a'] } })),
      ),
      models.merge(
        id,
        hosts.map((each) => ({ ...each, data: { names: ['b'] } })),
      ),
    ];
    const ids = [newId(), newId()];
    for (const id of ids) await models.beginRun(id, 'crowd');
    await Promise.all(ids.flatMap(halves));
    for (const id of ids) await models.finishRun(id, { complete: true, covers: ['host'] });
    const listed = await models.list({ target: 'crowd', states: ['new', 'known', 'changed'] }, ALL);
    assert.equal(listed.length, 2500);
    for (const { data, last_run } of listed) assert.deepEqual([data['names'], last_run], [['a', 'b'], 2]);
  });

  it('are found by target, model, state, prefix and time, newest first, page by page', async () => {
    const many = Array.from({ length: 25 }, (_, n) => ({ model: `m${n % 2}`, key: `k_${n % 3}/${n}%`, data: { n } }));
    const run = await runOf(models, 'pages', many);
    const seen: string[] = [];
    for (let after: string | null = null; ;) {
      const page = await models.list({ target: 'pages' }, { after, limit: 10 });
      seen.push(...page.map(({ id }) => id));
      if (page.length < 10) break;
      after = page.at(-1)!.id;
    }
    assert.equal(new Set(seen).size, 25);
    assert.deepEqual(seen, [...seen].sort().reverse());
    const count = async (filter: object) => (await models.list({ target: 'pages', ...filter }, ALL)).length;
    assert.equal(await count({ model: 'm1' }), 12);
    assert.equal(await count({ key_prefix: 'k_1/' }), 8);
    assert.equal(await count({ key_prefix: 'k%' }), 0, 'a prefix is no pattern');
    assert.equal(await count({ search: 'K_1/' }), 8);
    assert.equal(await count({ search: '_%' }), 0, 'a search is no pattern');
    assert.equal(await count({ states: ['known', 'gone'] }), 0);
    assert.equal(await count({ changed_since: run.started_at }), 25);
    assert.equal(await count({ changed_since: run.started_at + 1 }), 0);
    assert.equal((await models.get(seen[3]!))!.id, seen[3]);
    assert.equal(await models.get(newId()), null);
  });

  it('are found by a text in their keys, and in texts and numbers anywhere in their data, whatever its case', async () => {
    const seen = [
      host(1, { banner: 'SSH-2.0-OpenSSH_9.6\r\n', ports: [22, 8443] }),
      host(2, { said: [{ deep: ['a "quoted" \\ word'] }], port: 443, open: true }),
      host(3, { subject: 'Größe GmbH', names: ['WWW.Example.test'] }),
    ];
    await runOf(models, 'searched', seen);
    const found = async (search: string) =>
      (await models.list({ target: 'searched', search }, ALL))
        .map(({ key }) => key.at(-1))
        .sort()
        .join('');
    for (const [search, keys] of [
      ['openssh', '1'],
      ['443', '12'],
      ['a "QUOTED" \\ w', '2'],
      ['\r\n', '1'],
      ['größe gmbh', '3'],
      ['www.example', '3'],
      ['10.0.0.', '123'],
      ['banner', ''],
      ['true', ''],
      ['","', ''],
      ['%', ''],
    ] as const) {
      assert.equal(await found(search), keys, search);
    }
  });

  it('refuse what cannot be kept, by name, before anything is merged', async () => {
    const id = newId();
    await models.beginRun(id, 'refused');
    const wrong: [ReportedModel, RegExp][] = [
      [{ model: 'a b', key: 'k', data: {} }, /^models\[1\]\.model: must be 1 to 100/],
      [{ model: 'm', key: '', data: {} }, /^models\[1\]\.key: must be a string of 1 to 500/],
      [{ model: 'm', key: 'k\0', data: {} }, /^models\[1\]\.key: /],
      [{ model: 'm', key: 'k', data: [] as never }, /^models\[1\]\.data: must be an object/],
      [{ model: 'm', key: 'k', data: { x: 'y'.repeat(70_000) } }, /64 KiB of JSON \(got 69\)$/],
      [{ model: 'm', key: 'k', data: { x: '\ud800' } }, /cannot be stored/],
      [{ model: 'm', key: 'k', data: { x: ['\0'] } }, /cannot be stored/],
    ];
    for (const [model, message] of wrong) {
      await assert.rejects(models.merge(id, [host(1), model]), { code: 'VALIDATION_FAILED', message });
    }
    await models.merge(id, [{ model: 'm', key: 'k', data: { x: '\\u0000 \\\\ud800' } }]);
    assert.deepEqual(await statesOf('refused'), { k: 'new' });
    await assert.rejects(models.merge(newId(), [host(1)]), { code: 'NOT_FOUND' });
  });

  it('show long values and many members of a change in part', async () => {
    const data = (x: string) => ({ long: x.repeat(5000), ...Object.fromEntries(manyMembers(x)) });
    await runOf(models, 'long', [host(1, data('a'))]);
    await runOf(models, 'long', [host(1, data('b'))]);
    const { changes } = await one('long');
    assert.equal(changes.length, 50);
    const long = changes.find(({ field }) => field === 'long')!;
    assert.ok((long.new as string).startsWith('"bbb') && (long.new as string).length === 1000);
  });

  it('stay within bounds: what has been gone for long, old runs and old chunks are deleted', async () => {
    await runOf(models, 'old', [host(1), host(2)]);
    await runOf(models, 'old', [host(2)]);
    const chunk = { task_id: newId(), attempt: 1, ordinal: 0 };
    await models.putChunk(chunk, [{ a: 1 }]);
    await models.putChunk(chunk, [{ a: 2 }, 'b']);
    assert.deepEqual(await models.readChunk(chunk), [{ a: 2 }, 'b'], 'the same attempt says it again');
    await models.retain(100);
    assert.deepEqual(await statesOf('old'), { '10.0.0.1': 'gone', '10.0.0.2': 'known' });
    const later = { now: () => new Date(Date.now() + 3 * 86_400_000).toISOString() };
    await modelsOf(database, later).retain(100_000);
    assert.deepEqual(await statesOf('old'), { '10.0.0.2': 'known' });
    await findingsOf(database, later).retain(100_000);
    assert.equal(await models.readChunk(chunk), null);
    const targets = await models.targets({ offset: 0, limit: 100 });
    const old = targets.find(({ target }) => target === 'old')!;
    assert.deepEqual([old.runs, old.last_run!.number, old.last_run!.gone], [2, 2, 1]);
    const third = await runOf(models, 'old', []);
    assert.deepEqual([third.number, third.gone], [3, 1], 'numbers count on');
  });

  it('have a latest run by sort, since one scan is several runs, also where it found nothing any more', async () => {
    const latest = async () => {
      const runs = await models.latestRuns({ target: 'sorts' });
      assert.ok(runs.every(({ target }) => target === 'sorts'));
      return Object.fromEntries(runs.map(({ model, number }) => [model, number]));
    };
    const service = { model: 'service', key: '10.0.0.1:22/tcp', data: {} };
    await runOf(models, 'sorts', [host(1), service], { covers: ['host', 'service'] });
    await runOf(models, 'sorts', [{ model: 'name', key: 'a.test/A', data: {} }], { covers: ['name'] });
    assert.deepEqual(await latest(), { host: 1, service: 1, name: 2 });
    await runOf(models, 'sorts', [host(1)], { complete: false, covers: [] });
    assert.deepEqual(await latest(), { host: 3, service: 1, name: 2 });
    await runOf(models, 'sorts', [], { covers: ['name'] });
    await runOf(models, 'sorts', [], { covers: ['name'] });
    assert.deepEqual(await latest(), { host: 3, service: 1, name: 5 });
    assert.deepEqual(await models.latestRuns({ target: 'sorts', model: 'name' }), [
      { target: 'sorts', model: 'name', number: 5 },
    ]);
    assert.ok((await models.latestRuns({})).length > 3, 'those of all targets, where none is named');
  });
});

function manyMembers(value: string): [string, string][] {
  return Array.from({ length: 100 }, (_, n) => [`m${n}`, value]);
}
