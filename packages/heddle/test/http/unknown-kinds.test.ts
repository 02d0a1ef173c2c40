/** Warnings about unknown kinds, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { BUILT_IN_KINDS } from '@heddle/core/domain/built-in-kinds';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import type { SubmissionWarningDto } from '../../src/http/wire/submission-warning.ts';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { contextOn } from '@heddle/test-support/engine/schedule/fixture';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, task, type TestServer } from '@heddle/test-support/http/server';

let server: TestServer;
let database: Database;
let engine: Engine;
/** Statements since the last check. */
const statements: string[] = [];

/** An engine of another process: it has seen nothing. */
function newEngine(): Engine {
  return createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
}

before(async () => {
  ({ database } = await createTestDatabase());
  const original = database.query.bind(database);
  database.query = (statement, values) => {
    statements.push(statement.name);
    return original(statement, values as never) as never;
  };
  engine = newEngine();
  const jobs = createJobs(contextOn(database, new VirtualClock()));
  server = await createTestServer({ engine, database, jobs });
  await engine.claim({ lanes: ['kind:CountWords', 'kind:Ünïcode'], limit: 1, holder: 'a worker' });
  await engine.workersSeen([{ worker: 'w', kinds: ['queued.resize'], concurrency: 1 }]);
});

after(async () => {
  await server.app.close();
  await engine.close();
});

async function post(url: string, payload: object, headers: Record<string, string> = {}) {
  const response = await server.app.inject({ method: 'POST', url, payload, headers });
  assert.ok(response.statusCode < 300, response.body);
  const header = response.headers['x-warnings'];
  const warnings = JSON.parse(header === undefined ? '[]' : String(header)) as SubmissionWarningDto[];
  return { body: response.json<Record<string, unknown>>(), header, warnings };
}

const batch = (...kinds: string[]) => kinds.map((kind) => task({ kind }));

const told = (warnings: readonly SubmissionWarningDto[]) =>
  warnings.map(({ kind, did_you_mean }) => [kind, did_you_mean]);

describe('warnings of submissions', () => {
  test('report kinds that no worker has ever requested, with the most similar known one', async () => {
    const { warnings } = await post('/task', batch('CountWord', 'CountWords', 'queued.rezise', 'FilterModel', 'xyzzy'));
    assert.deepEqual(told(warnings), [
      ['CountWord', 'CountWords'],
      ['queued.rezise', 'queued.resize'],
      ['FilterModel', 'FilterModels'],
      ['xyzzy', null],
    ]);
    assert.equal(
      warnings[0]!.message,
      'no worker has ever requested tasks of the kind "CountWord"; did you mean "CountWords"? Otherwise they wait until one does',
    );
    assert.deepEqual(new Set(warnings.map(({ code }) => code)), new Set(['UNKNOWN_KIND']));
    const root = { mode: 'parallel', children: [{ kind: 'CountWord' }, { kind: 'queued.resize' }] };
    const workflow = await post('/v1/workflows', { root });
    assert.deepEqual(workflow.body['warnings'], workflow.warnings);
    assert.deepEqual(told(workflow.warnings), [['CountWord', 'CountWords']]);
    const minimal = await post('/v1/workflows', { root }, { prefer: 'return=minimal' });
    assert.deepEqual(told(minimal.warnings), [['CountWord', 'CountWords']]);
  });

  test('omit kinds that are served: by workers, queues, webhooks, runners or Heddle itself', async () => {
    const on_start = { kind: 'Webhook', params: { url: 'http://127.0.0.1:9/', verb: 'Post' } };
    const { header } = await post('/task', [
      ...batch('CountWords', 'queued.resize', ...BUILT_IN_KINDS),
      task({ kind: 'never.seen', on_start }),
    ]);
    assert.equal(header, undefined);
    const root = { mode: 'parallel', children: [{ kind: 'on.a.runner', requirements: { resource_class: 'm1' } }] };
    assert.deepEqual((await post('/v1/workflows', { root })).body['warnings'], []);
  });

  test('are limited, in a header that clients accept', async () => {
    const kinds = Array.from({ length: 500 }, (_, index) => `Ünïcöde-${'ü'.repeat(80)}-${index}`);
    const { header, warnings } = await post('/task', batch(...kinds));
    assert.match(String(header), /^[\x20-\x7e]{1,4096}$/);
    assert.ok(warnings.length >= 1 && warnings.length <= 10);
    assert.equal(warnings[0]!.kind, kinds[0]);
    const { body } = await post('/v1/workflows', {
      root: { mode: 'parallel', children: kinds.map((kind) => ({ kind })) },
    });
    assert.equal((body['warnings'] as unknown[]).length, 10);
  });

  test('cost one statement at most, and none if it was checked recently', async () => {
    const looks = () => statements.splice(0).filter((name) => name === 'kinds.find_taken').length;
    looks();
    await post('/task', batch('lookup-a', 'lookup-b', 'CountWords'));
    assert.equal(looks(), 1);
    await post('/task', batch('lookup-a', 'lookup-b', 'CountWords'));
    await post('/task', batch('CountWords', 'Filter'));
    assert.equal(looks(), 0);
  });

  test('end with the first claim, which every process remembers', async () => {
    const fresh = newEngine();
    assert.deepEqual(await fresh.unknownKinds(['latecomer']), [{ kind: 'latecomer', did_you_mean: null }]);
    await engine.claim({ lanes: ['kind:latecomer'], limit: 1, holder: 'a worker' });
    await database.query({ name: 'test.forget_claimers', text: 'delete from heddle.claimer' }, []);
    const later = newEngine();
    assert.deepEqual(await later.unknownKinds(['latecomer']), []);
    await Promise.all([fresh.close(), later.close()]);
  });

  test('are also sent for jobs, and by the client', async () => {
    const baseUrl = await server.app.listen({ host: '127.0.0.1', port: 0 });
    const client = new HeddleClient({ baseUrl });
    const submitted = await client.submit([{ name: 'a', kind: 'CountWord' }] as never);
    assert.deepEqual(told(submitted.warnings), [['CountWord', 'CountWords']]);
    assert.deepEqual((await client.submitMinimal([{ name: 'a', kind: 'CountWords' }] as never)).warnings, []);
    const workflow = await client.submitWorkflow({ root: { mode: 'parallel', children: [{ kind: 'CountWord' }] } });
    assert.deepEqual(told(workflow.warnings), [['CountWord', 'CountWords']]);
    const misspelled = { workflow: { root: { mode: 'parallel' as const, children: [{ kind: 'CountWord' }] } } };
    const job = await client.jobs.create({ name: 'nightly', cron: '@daily', ...misspelled });
    assert.deepEqual(told(job.warnings), [['CountWord', 'CountWords']]);
    assert.deepEqual((await client.jobs.update('nightly', { cron: '@hourly' })).warnings, []);
    const changed = await client.jobs.update('nightly', misspelled);
    assert.deepEqual(told(changed.warnings), [['CountWord', 'CountWords']]);
  });
});

describe('explain', () => {
  test('reports that no worker has ever requested the kind of a task, and which one may be meant', async () => {
    const { body } = await post('/task', batch('CountWordz'));
    const [{ id }] = body as unknown as [{ id: string }];
    const explanation = (await server.app.inject({ url: `/v1/tasks/${id}/explain` })).json<Record<string, unknown>>();
    assert.equal(
      explanation['summary'],
      'No worker has ever requested tasks of the kind "CountWordz"; start one. Did you mean "CountWords"?',
    );
    assert.deepEqual(explanation['obstacles'], [
      { type: 'no_worker', lane: 'kind:CountWordz', last_seen: null, never: { did_you_mean: 'CountWords' } },
    ]);
  });

  test('does not report a kind whose workers have been gone for days', async () => {
    const { body } = await post('/task', batch('queued.resize'));
    await database.query({ name: 'test.forget_claimers', text: 'delete from heddle.claimer' }, []);
    const explanation = await engine.explain((body as unknown as [{ id: string }])[0].id);
    assert.equal(explanation!.summary, 'No worker has requested tasks of the kind "queued.resize" lately; start one.');
  });
});
