import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { accessServer } from '../../src/app/server-access.ts';
import type { WorkerEvent } from '../../src/app/worker.ts';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { heddle, HeddleProcess } from '@heddle/test-support/app/heddle-process';

const EXAMPLES = join(import.meta.dirname, '../../../../examples/kinds');
const WORDS = join(EXAMPLES, 'words.ts');
type Ready = WorkerEvent & { event: 'ready' };
type Stopped = WorkerEvent & { event: 'stopped' };
type Workflow = Parameters<HeddleClient['submitWorkflow']>[0];

const workflow = JSON.parse(readFileSync(join(EXAMPLES, 'words.json'), 'utf8')) as Workflow;
const running: HeddleProcess[] = [];
let databaseUrl = '';

function start(args: readonly string[], environment: Record<string, string> = {}): HeddleProcess {
  const child = new HeddleProcess([...args, '--json'], {
    DATABASE_URL: databaseUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_LOOP_INTERVAL_MS: '100',
    ...environment,
  });
  running.push(child);
  return child;
}

before(async () => {
  databaseUrl = (await createTestDatabase()).url;
});

after(async () => {
  for (const child of running) if (!child.ended) child.child.kill('SIGKILL');
  await Promise.all(running.map(({ exited }) => exited));
});

/** Runs the example's workflow and returns the aggregator's result. */
async function countWords(client: HeddleClient): Promise<unknown> {
  const { id } = await client.submitWorkflow(workflow);
  const state = await eventually(
    async () => {
      const { state: each } = await client.getWorkflow(id);
      return each === 'Pending' || each === 'Running' ? undefined : each;
    },
    'the workflow has ended',
    60_000,
  );
  // One of the texts has no words, which its container tolerates.
  assert.equal(state, 'PartiallyFailed');
  for await (const { kind, data } of client.workflowResults(id)) if (kind === 'WordCountAggregator') return data;
  throw new Error('the aggregator left no result');
}

const COUNTED = { the: 4, warp: 1, and: 1, weft: 2, shuttle: 1, carries: 1 };

describe('the example kinds', () => {
  it('run in a separate worker, through queues, until it is stopped', async () => {
    const server = start(['server']);
    const { url } = await server.ready();
    const words = ['WordCount', 'WordCountAggregator', 'WordCountGenerator'];
    const named = [...words, 'Filter', 'UpsertModels'].flatMap((kind) => ['--kind', kind]);
    const worker = start(['worker', '--module', WORDS, ...named, '--concurrency', '4']);
    const ready = await worker.event<Ready>('ready');
    assert.deepEqual(
      [ready.kinds, ready.concurrency, ready.queue, ready.asks],
      [[...words, 'Filter', 'UpsertModels'], 4, 'postgres', 'database'],
    );
    assert.deepEqual(await countWords(new HeddleClient({ baseUrl: url })), COUNTED);
    assert.equal(await worker.end('SIGTERM'), 0);
    const stopped = worker.events.find(({ event }) => event === 'stopped') as Stopped;
    assert.deepEqual([stopped.succeeded, stopped.failed], [4, 1]);
    assert.equal(await server.end('SIGTERM'), 0);
  });

  it('run in the server itself', async () => {
    // A separate database: queue workers announced there would get some of the tasks.
    const { url: ownDatabase } = await createTestDatabase();
    const server = start(['server', '--module', WORDS], { DATABASE_URL: ownDatabase });
    const { url } = await server.ready();
    const client = new HeddleClient({ baseUrl: url });
    assert.deepEqual(await countWords(client), COUNTED);
    await askServer(client, url);
    assert.equal(await server.end('SIGTERM'), 0);
  });
});

describe('a handler with an unhandled rejection', () => {
  for (const [where, command] of [
    ['a server', 'server'],
    ['a worker', 'worker'],
  ] as const) {
    it(`does not end ${where}`, async () => {
      const directory = mkdtempSync(join(tmpdir(), 'heddle-stray-'));
      const path = join(directory, 'stray.ts');
      writeFileSync(
        path,
        `import { defineKind } from '@heddle/kit';
         export default defineKind({ name: 'stray', run() { void Promise.reject(new Error('left behind')); return 1; } });`,
      );
      const { url: ownDatabase } = await createTestDatabase();
      const own = { DATABASE_URL: ownDatabase };
      const server = start(['server', ...(command === 'server' ? ['--module', path] : [])], own);
      const { url } = await server.ready();
      const worker = command === 'worker' ? start(['worker', '--module', path], own) : server;
      if (worker !== server) await worker.event<Ready>('ready');
      const client = new HeddleClient({ baseUrl: url });
      const children = Array.from({ length: 3 }, () => ({ kind: 'stray' }));
      const { id } = await client.submitWorkflow({ root: { mode: 'sequential', children } });
      await eventually(async () => (await client.getWorkflow(id)).state === 'Succeeded', 'all three succeeded', 60_000);
      assert.match(worker.stderr, /unhandled promise rejection in a handler.*/);
      assert.match(worker.stderr, /left behind/);
      for (const child of new Set([worker, server])) assert.equal(await child.end('SIGTERM'), 0);
      rmSync(directory, { recursive: true });
    });
  }
});

/** What a worker without a database requests from a server: which tasks are wanted, and earlier results. */
async function askServer(client: HeddleClient, url: string): Promise<void> {
  const { control, results } = accessServer({ url, token: undefined }, silentLogger);
  const [ended] = await client.listTasks({ kind: 'WordCountAggregator' });
  const [waits] = (await client.submit([{ name: 'waits', kind: 'nobody-takes-it' }])).tasks;
  const asked = [ended!.id, waits!.id, newId()].map((task_id) => ({ task_id, attempt: 1 }));
  assert.deepEqual(await control.check(asked), ['the task has ended', null, 'the task has ended']);
  const states: string[] = [];
  for await (const { kind, state } of results.stream(ended!.id, new AbortController().signal)) {
    if (kind === 'WordCount') states.push(state);
  }
  assert.deepEqual(states.sort(), ['partially_failed', 'succeeded', 'succeeded']);
}

describe('a worker that cannot start', () => {
  it('reports what is wrong', async () => {
    const withoutModule = await heddle(['worker'], { DATABASE_URL: databaseUrl });
    assert.match(withoutModule.stderr, /--module \(HEDDLE_MODULES\): name at least one module/);
    assert.equal(withoutModule.code, 2);
    const withoutDatabase = await heddle(['worker', '--module', WORDS], { HEDDLE_DATA_DIR: EXAMPLES });
    assert.match(withoutDatabase.stderr, /DATABASE_URL: is required where the queues are in PostgreSQL/);
    assert.equal(withoutDatabase.code, 2);
  });
});
