/** The console against the real server: its routes, its policy, its engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, beforeEach } from 'node:test';
import type { Browser } from 'playwright-core';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { createTestServer } from '@heddle/test-support/http/server';
import type { TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { launchBrowser } from '../support/web/browser.ts';
import { pageScenarios } from '../support/web/scenarios.ts';
import type { PageTarget } from '../support/web/scenarios.ts';

interface SubmittedTask {
  id: string;
  name: string;
  status: string;
  batch_id: string;
}

const ROOT = join(import.meta.dirname, '../..');
const LARGE_COUNT = 5000;
const LARGE_WIDTH = 250;
const MARKUP = '<img src=x onerror="window.__attacked=true">';

let server: TestServer;
let engine: Engine;
let browser: Browser;
let url: string;
let target: PageTarget;
let hostile: PageTarget['hostile'];
let large: PageTarget['large'];

before(async () => {
  browser = await launchBrowser();
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-page.ts')], { stdio: 'inherit' });
  const { database } = await createTestDatabase();
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  const runs = createRuns(database);
  server = await createTestServer({ engine, database, runs, config: { pageDirectory: join(ROOT, 'web/dist') } });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  const [dangerous] = await submit([{ name: MARKUP, kind: '<script>', metadata: { note: MARKUP } }]);
  hostile = { batchId: dangerous!.batch_id, taskId: dangerous!.id, markup: MARKUP };
  const [first] = await submit(Array.from({ length: LARGE_COUNT }, (_, i) => largeTask(i)));
  large = { batchId: first!.batch_id, taskCount: LARGE_COUNT };
});

after(async () => {
  await browser.close();
  await server.app.close();
  await engine.close();
});

function largeTask(i: number): unknown {
  const above = i - LARGE_WIDTH;
  const parents = above < 0 ? [] : [above, above - (above % LARGE_WIDTH) + ((above + 37) % LARGE_WIDTH)];
  const dependencies = parents.map((parent) => ({ id: `t${parent}`, requires_success: true }));
  return { id: `t${i}`, name: `Task ${i}`, kind: 'large', dependencies };
}

async function submit(tasks: unknown[]): Promise<SubmittedTask[]> {
  const response = await fetch(`${url}/task`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(tasks),
  });
  const body = await response.text();
  assert.equal(response.status, 201, body.slice(0, 500));
  return JSON.parse(body) as SubmittedTask[];
}

async function report(taskId: string, outcome: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${url}/task/${taskId}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(outcome),
  });
  assert.equal(response.status, 200, await response.text());
}

/** A small analysis with tasks in several states. */
async function submitMixed(): Promise<PageTarget['mixed']> {
  const kind = `mixed-${performance.now()}`;
  const needs = (...ids: string[]): unknown[] => ids.map((id) => ({ id, requires_success: id !== 'docs' }));
  const created = await submit([
    { id: 'inventory', name: 'Inventory', kind: `${kind}-a` },
    { id: 'src', name: 'Hash src', kind: `${kind}-b`, dependencies: needs('inventory') },
    { id: 'test', name: 'Hash test', kind: `${kind}-b`, dependencies: needs('inventory') },
    { id: 'docs', name: 'Hash docs', kind: `${kind}-b`, dependencies: needs('inventory') },
    { id: 'licences', name: 'Licences', kind: `${kind}-c`, dependencies: needs('inventory') },
    { id: 'aggregate', name: 'Aggregate', kind: `${kind}-c`, dependencies: needs('src', 'test', 'docs') },
    { id: 'report', name: 'Report', kind: `${kind}-c`, dependencies: needs('aggregate') },
  ]);
  const ids = new Map(created.map(({ name, id }) => [name, id]));
  const claim = (suffix: string): Promise<unknown> =>
    engine.claim({ lanes: [`kind:${kind}-${suffix}`], limit: 10, holder: 'test' });
  await claim('a');
  await report(ids.get('Inventory')!, { status: 'Success' });
  await claim('b');
  await report(ids.get('Hash src')!, { status: 'Success' });
  await report(ids.get('Hash docs')!, { status: 'Failure', failure_reason: 'the disk is full' });
  const batchId = created[0]!.batch_id;
  const dag = (await (await fetch(`${url}/dag/${batchId}`)).json()) as { tasks: SubmittedTask[] };
  const tasks = new Map(dag.tasks.map(({ name, id, status }) => [name, { id, status }]));
  return { batchId, title: null, tasks };
}

beforeEach(async () => {
  const mixed = await submitMixed();
  target = { url, mixed, hostile, large, finishTask: (taskId) => report(taskId, { status: 'Success' }) };
});

pageScenarios(
  () => browser,
  () => target,
);
