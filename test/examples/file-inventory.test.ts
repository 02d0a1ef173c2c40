import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { Api } from '../../examples/file-inventory/api.ts';
import { HASH_TASKS_AT_ONCE } from '../../examples/file-inventory/dag.ts';
import { startExample, type RunningExample } from '../../examples/file-inventory/run.ts';
import { Service } from '../../examples/file-inventory/service.ts';
import type { Report } from '../../examples/file-inventory/work.ts';
import { HeddleClient } from '@heddle/client';
import type { BasicTaskDto } from '@heddle/client';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';

const FILES: Readonly<Record<string, string>> = {
  'readme.md': '# One\n\ntwo',
  'src/a.ts': 'export const a = 1;\n',
  'src/b.ts': 'export const b = 2;\nexport const c = 3;\n',
  'src/deep/er/copy.ts': 'export const a = 1;\n',
  'src/empty.ts': '',
  'test/a.test.ts': 'export const a = 1;\n',
  'docs/x.md': 'text\n',
  'docs/raw': '\u0000\n\n',
  'other/q.sql': 'select 1;\n',
  'more/r.json': '{}',
  'sixth/s.py': 'pass\n',
  'node_modules/x/index.js': 'not counted',
  'dist/out.js': 'not counted',
};

const silent = { info: () => undefined, warn: () => undefined };

let server: Heddle;
let client: HeddleClient;
let root: string;
let directory: string;

before(async () => {
  server = await startHeddle();
  client = new HeddleClient({ baseUrl: server.url });
  root = await mkdtemp(join(tmpdir(), 'heddle-inventory-root-'));
  directory = await mkdtemp(join(tmpdir(), 'heddle-inventory-data-'));
  for (const [path, content] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
});

after(async () => {
  await Promise.all(started.map((example) => example.close()));
  await server.stop();
  await rm(root, { recursive: true });
  await rm(directory, { recursive: true });
});

/** Collects the state of a batch after each event of its stream, until it has ended. */
async function follow(batchId: string): Promise<{ tasks: Map<string, BasicTaskDto>; hashingAtOnce: number }> {
  const tasks = new Map<string, BasicTaskDto>();
  let hashingAtOnce = 0;
  for await (const event of client.watchBatch(batchId)) {
    for (const task of event.tasks) tasks.set(task.id, task);
    const hashing = [...tasks.values()].filter(({ kind, status }) => kind === 'inventory.hash' && isUnderWay(status));
    hashingAtOnce = Math.max(hashingAtOnce, hashing.length);
  }
  return { tasks, hashingAtOnce };
}

function isUnderWay(status: string): boolean {
  return status === 'Running' || status === 'Claimed';
}

/** The maximum number of overlapping intervals. */
function mostAtOnce(tasks: readonly BasicTaskDto[]): number {
  const edges = tasks.flatMap(({ started_at, ended_at }) => [
    { at: Date.parse(started_at!), change: 1 },
    { at: Date.parse(ended_at!), change: -1 },
  ]);
  edges.sort((a, b) => a.at - b.at || a.change - b.change);
  let now = 0;
  return Math.max(...edges.map(({ change }) => (now += change)));
}

/** The expected report, computed another way: one walk, one file after the other. */
async function directWalk(
  path: string,
): Promise<{ files: number; bytes: number; lines: number; byHash: Map<string, string[]> }> {
  const total = { files: 0, bytes: 0, lines: 0, byHash: new Map<string, string[]>() };
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name).slice(path.length + 1);
    if (!entry.isFile() || /(^|\/)(node_modules|\.git|dist|\.heddle|coverage)\//.test(file)) continue;
    const content = await readFile(join(path, file));
    total.files += 1;
    total.bytes += content.length;
    if (!content.includes(0))
      total.lines += content
        .toString('latin1')
        .split('\n')
        .filter((line, at, all) => at < all.length - 1 || line !== '').length;
    if (content.length === 0) continue;
    const hash = createHash('sha256').update(content).digest('hex');
    total.byHash.set(hash, [...(total.byHash.get(hash) ?? []), file].sort());
  }
  return total;
}

async function reportOf({ reportFile }: RunningExample): Promise<Report> {
  return JSON.parse(await readFile(reportFile, 'utf8')) as Report;
}

const started: RunningExample[] = [];

async function start(change: { root?: string; paceMs?: number } = {}): Promise<RunningExample> {
  const example = await startExample({ apiUrl: server.url, log: silent, root, directory, paceMs: 0, ...change });
  started.push(example);
  return example;
}

describe('the file inventory', () => {
  test('every task succeeds, one of them at its second attempt, and its rule holds', async () => {
    const example = await start();
    const { tasks, hashingAtOnce } = await follow(example.batchId);
    const all = [...tasks.values()];
    assert.equal(all.length, 21);
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set(['Success']));
    const retried = all.filter(({ attempt }) => attempt > 1).map(({ local_id, attempt }) => [local_id, attempt]);
    assert.deepEqual(retried, [['check', 2]]);
    const hashes = all.filter(({ kind }) => kind === 'inventory.hash');
    assert.equal(hashes.length, 5);
    assert.ok(hashingAtOnce <= HASH_TASKS_AT_ONCE, `${hashingAtOnce} were seen at once`);
    assert.ok(mostAtOnce(hashes) <= HASH_TASKS_AT_ONCE, 'by the times that are recorded');
    assert.deepEqual(
      hashes.map(({ success, failures, expected_count }) => [success, failures, expected_count]).sort(),
      all
        .filter(({ kind }) => kind === 'inventory.measure')
        .map((task) => [task.success, task.failures, task.expected_count])
        .sort(),
    );
    assert.equal(
      hashes.reduce((sum, { success }) => sum + success, 0),
      11,
    );
    assert.match((await example.report)!, /TypeScript +5 +5 +100\n/);
    await example.close();
  });

  test('its report matches a direct walk', async () => {
    const example = await start();
    assert.notEqual(await example.report, null);
    const report = await reportOf(example);
    const { byHash, ...total } = await directWalk(root);
    assert.deepEqual(report.total, total);
    const twice = [...byHash].filter(([, paths]) => paths.length > 1);
    assert.deepEqual(
      report.duplicates.map(({ sha256, paths }) => [sha256, [...paths].sort()]),
      twice,
    );
    assert.deepEqual(report.duplicates[0]!.paths.sort(), ['src/a.ts', 'src/deep/er/copy.ts', 'test/a.test.ts']);
    assert.equal(report.check, 'Success');
    assert.deepEqual(report.languages['SQL'], { files: 1, bytes: 10, lines: 1 });
    await example.close();
  });

  test('it also counts the examples of this repository', async () => {
    const examples = join(import.meta.dirname, '../../examples');
    const example = await start({ root: examples });
    await example.report;
    const { byHash, ...total } = await directWalk(examples);
    assert.ok(byHash.size > 5);
    assert.deepEqual((await reportOf(example)).total, total);
    await example.close();
  });

  test('an empty directory counts as nothing', async () => {
    const empty = join(directory, 'empty');
    await mkdir(empty);
    const example = await start({ root: empty });
    await example.report;
    assert.deepEqual((await reportOf(example)).total, { files: 0, bytes: 0, lines: 0 });
    await example.close();
  });

  test('after an interruption, it resumes the same batch at the next start', async () => {
    const first = await start({ paceMs: 100 });
    const begun = async (): Promise<boolean> => (await client.getBatch(first.batchId)).remaining < 21;
    await eventually(begun, 'a first task has ended');
    await first.close();
    assert.equal(await first.report, null);
    const second = await start();
    assert.equal(second.batchId, first.batchId);
    await second.close();
    await client.cancelBatch(first.batchId);
    const third = await start();
    assert.notEqual(third.batchId, first.batchId);
    assert.notEqual(await third.report, null);
    await third.close();
  });
});

describe("the example's service", () => {
  const TASK = '01900000-0000-7000-8000-000000000001';
  const handle = `http://127.0.0.1:1/task/${TASK}?attempt=1&signature=x`;

  test('accepts only calls that Heddle can have made', async () => {
    const api = new Api({ url: server.url });
    const onAnnounced = (): void => undefined;
    const service = await Service.start({
      api,
      key: 'k',
      port: 0,
      root,
      directory,
      paceMs: 0,
      log: silent,
      onAnnounced,
    });
    const call = async (path: string, headers: Record<string, string>, body = '{}'): Promise<number> => {
      const own = { authorization: 'Bearer k', 'x-task-id': TASK, 'x-task-trigger': 'start' };
      const response = await fetch(`${service.url}${path}`, { method: 'POST', headers: { ...own, ...headers }, body });
      await response.arrayBuffer();
      return response.status;
    };
    const work = `/run/list?handle=${encodeURIComponent(handle)}`;
    assert.equal(await call(work, { authorization: 'Bearer other' }), 401);
    assert.equal(await call(work, { authorization: '' }), 401);
    assert.equal(await call(work, { 'x-task-id': '' }), 400);
    assert.equal(await call(work, { 'x-task-id': TASK.replace(/1$/, '2') }), 400);
    assert.equal(await call(work, { 'x-task-trigger': 'end' }), 400);
    assert.equal(await call('/run/list', {}), 400);
    assert.equal(await call(work, {}, 'not json'), 400);
    assert.equal(await call(work.replace('list', 'constructor'), {}), 404);
    assert.equal(await call('/announce', {}, '{"text":"hello"}'), 200);
    await service.close();
  });
});
