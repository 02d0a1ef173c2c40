/** A worker that is killed while an executor runs its task, with real processes and a real connection. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import type { JsonObject } from '@heddle/base/json';
import type { Listener } from '@heddle/executor/listener';
import { systemClock } from '@heddle/base/clock';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { listen } from '@heddle/test-support/executor/client/listening-executor';
import { CREDENTIALS, MemoryExecutor } from '@heddle/test-support/executor/client/memory-executor';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';

const running: HeddleProcess[] = [];
let directory: string;
let listener: Listener;
let environment: Record<string, string>;

const executor = new MemoryExecutor({
  clock: systemClock,
  run: async (event: string, args: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    // Only the run that is interrupted takes long.
    // fixed wait: how long the event itself takes
    if (event === 'Wait' && executor.runs.size === 1) await systemClock.sleep(300_000, signal);
    return { event, args };
  },
});

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'heddle-killed-'));
  const clientFile = join(directory, 'client.json');
  await writeFile(clientFile, JSON.stringify(CREDENTIALS));
  await chmod(clientFile, 0o600);
  const opened = await listen(executor);
  listener = opened.listener;
  const { url } = await createTestDatabase();
  environment = {
    DATABASE_URL: url,
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_LOOP_INTERVAL_MS: '100',
    WORKER_LEASE_SECS: '5',
    HEDDLE_TEST_EXECUTOR: opened.url,
    HEDDLE_TEST_CLIENT_FILE: clientFile,
  };
});

after(async () => {
  for (const child of running) if (!child.ended) child.child.kill('SIGKILL');
  await Promise.all(running.map(({ exited }) => exited));
  await listener.close(0);
  await rm(directory, { recursive: true });
});

function start(command: string, own: Record<string, string> = {}): HeddleProcess {
  const child = new HeddleProcess([command, '--json'], { ...environment, ...own });
  running.push(child);
  return child;
}

async function startWorker(): Promise<HeddleProcess> {
  const worker = start('worker', {
    HEDDLE_EXECUTORS: environment['HEDDLE_TEST_EXECUTOR']!,
    HEDDLE_EXECUTOR_CLIENT: environment['HEDDLE_TEST_CLIENT_FILE']!,
  });
  const ready = await worker.event<{ event: 'ready'; kinds: string[] }>('ready');
  assert.deepEqual(ready.kinds, ['RemoteEvent']);
  return worker;
}

test('a killed worker leads to one more attempt, the first run is canceled, and the outcome is stored', async () => {
  const server = start('server');
  const { url } = await server.ready();
  const client = new HeddleClient({ baseUrl: url });
  const first = await startWorker();
  const node = { kind: 'RemoteEvent', input: { event_name: 'Wait', args: { n: 1 } }, retry: { max_attempts: 3 } };
  const { id } = await client.submitWorkflow({ root: { mode: 'sequential', children: [node] } });
  const [task] = await eventually(async () => {
    const tasks = await client.listTasks({ kind: 'RemoteEvent' });
    return tasks.length > 0 && tasks;
  }, 'the task is there');
  const key = (attempt: number): string => `${task!.id}:${attempt}`;
  await eventually(() => executor.runs.has(key(1)) || undefined, 'the executor runs it', 60_000);
  await first.end('SIGKILL');
  await startWorker();
  await eventually(
    async () => (await client.getWorkflow(id)).state === 'Succeeded' || undefined,
    'it succeeds',
    90_000,
  );
  assert.ok(executor.canceled.has(key(1)), 'the run of the lost worker was canceled');
  assert.deepEqual([executor.runs.get(key(1)), executor.runs.get(key(2))], [1, 1]);
  assert.equal(executor.runs.size, 2);
  for await (const { data } of client.workflowResults(id)) assert.deepEqual(data, { event: 'Wait', args: { n: 1 } });
});
