import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';
import { heddle, type Ran } from '../support/cli/run-command.ts';

let server: Heddle;
let client: HeddleClient;
let directory: string;

before(async () => {
  server = await startHeddle();
  client = new HeddleClient({ baseUrl: server.url });
  directory = await mkdtemp(join(tmpdir(), 'heddle-operations-'));
});

after(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

const run = (...args: string[]): Promise<Ran> => heddle([...args, '--url', server.url]);

async function fileOf(name: string, value: unknown): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, JSON.stringify(value));
  return file;
}

async function submitted(name: string, kind: string): Promise<{ batch: string; task: string }> {
  const { batchId, tasks } = await client.submit([{ id: 'one', name, kind, metadata: { name } }]);
  return { batch: batchId!, task: tasks[0]!.id };
}

test('kinds are listed and shown', async () => {
  const list = await run('kind', 'list');
  assert.match(list.stdout, /^Conditional +\d+ .* any +Evaluates an expression/m);
  const shown = await run('kind', 'show', 'InsertData');
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^built in +yes$/m);
  assert.match(shown.stdout, /"type": "object"/);
  const json = (await run('kind', 'show', 'Conditional', '--json')).json() as { input_schema: unknown };
  assert.equal(json.input_schema, null);
  const unknown = await run('kind', 'show', 'nobody-runs-this');
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /No such kind: nobody-runs-this/);
});

test('a run is printed and run again with other inputs', async () => {
  const { batch } = await submitted('first', 'never-run');
  const printed = await run('runs', 'definition', batch);
  assert.deepEqual(JSON.parse(printed.stdout), [
    { id: 'one', name: 'first', kind: 'never-run', metadata: { name: 'first' } },
  ]);
  const inputs = await fileOf('inputs.json', { one: { name: 'second' } });
  const started = await run('runs', 'rerun', batch, '--inputs', inputs, '--json');
  assert.equal(started.code, 0, started.stderr);
  const { id, type } = started.json() as { id: string; type: string };
  assert.equal(type, 'batch');
  assert.deepEqual((await client.listTasks({ batch_id: id }))[0]!.metadata, { name: 'second' });
  assert.match((await run('runs', 'rerun', batch)).stdout, /^batch [0-9a-f-]{36} started\nsee it at http/);
  const wrong = await run('runs', 'rerun', batch, '--inputs', await fileOf('list.json', []));
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /does not contain inputs/);
});

test('a task is retried with another input and with everything after it', async () => {
  const { task } = await submitted('again', 'never-run');
  await client.cancelTask(task);
  const input = await fileOf('input.json', { name: 'changed' });
  const retried = await run('task', 'retry', task, '--input', input);
  assert.equal(retried.code, 0, retried.stderr);
  assert.match(retried.stdout, /Pending again/);
  assert.deepEqual((await client.getTask(task)).metadata, { name: 'changed' });
  await client.cancelTask(task);
  assert.match((await run('task', 'retry', task, '--after')).stdout, /Pending again/);
  const refused = await run('task', 'retry', task, '--input', input);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /has not started yet/);
});

test('the calendar of jobs is shown, and a range of the past is backfilled', async () => {
  const workflow = await fileOf('workflow.json', {
    root: { mode: 'sequential', children: [{ kind: 'never-run' }] },
  });
  await run('job', 'create', 'daily', '--cron', '@daily', '--workflow', workflow);
  const range = ['--since', '2026-01-01', '--until', '2026-01-02T12:00:00Z'];
  const dry = await run('job', 'backfill', 'daily', ...range, '--dry-run');
  assert.deepEqual(dry.lines, [
    '2026-01-01T00:00:00.000Z',
    '2026-01-02T00:00:00.000Z',
    '2 occurrences; nothing was started',
  ]);
  assert.match((await run('job', 'backfill', 'daily', ...range)).stdout, /2 occurrences, 2 runs started or waiting/);
  await eventually(
    async () => (await run('job', 'calendar', ...range)).stdout.includes('daily  Running'),
    'the calendar shows the run',
  );
  assert.match((await run('job', 'calendar')).stdout, /^\S+Z +daily +next +- */m);
});
