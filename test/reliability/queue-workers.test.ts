import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { MANAGER_QUEUE } from '@heddle/core/domain/message';
import { encodeManagerMessage } from '@heddle/core/domain/parse/encode';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';

const KINDS = join(import.meta.dirname, '../support/reliability/queue-kinds.ts');
/** The shortest lease that can be set: a killed worker's task is another's within this time. */
const LEASE_SECS = 5;

interface Began {
  event: string;
  id: string;
  attempt: number;
}

let database: TestDatabase;
let client: HeddleClient;
const processes: HeddleProcess[] = [];

function start(...args: string[]): HeddleProcess {
  const child = new HeddleProcess([...args, '--json'], {
    DATABASE_URL: database.url,
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_LOOP_INTERVAL_MS: '100',
    WORKER_LEASE_SECS: String(LEASE_SECS),
    HEDDLE_WORKER_DRAIN_SECS: '0',
  });
  processes.push(child);
  return child;
}

async function startWorker(): Promise<HeddleProcess> {
  const worker = start('worker', '--module', KINDS);
  await worker.event('ready');
  return worker;
}

const told = (worker: HeddleProcess, event: string): Began[] =>
  (worker.events as Began[]).filter((line) => line.event === event);

/** Submits one `hold` task that holds for this number of attempts; returns its id. */
async function submitHold(holding_attempts: number): Promise<string> {
  const root = { mode: 'parallel' as const, children: [{ id: 'held', kind: 'hold', input: { holding_attempts } }] };
  const { id } = await client.submitWorkflow({ name: 'held', root });
  const [task] = await client.listTasks({ batch_id: id });
  return task!.id;
}

async function untilStatus(id: string, status: string): Promise<Awaited<ReturnType<HeddleClient['getTask']>>> {
  return eventually(
    async () => {
      const task = await client.getTask(id);
      return task.status === status && task;
    },
    `task ${id} is ${status}`,
    40_000,
  );
}

before(async () => {
  database = await createTestDatabase();
  const { url } = await start('server').ready();
  client = new HeddleClient({ baseUrl: url });
});

after(async () => {
  for (const child of processes) if (!child.ended) child.child.kill('SIGKILL');
  await Promise.all(processes.map(({ exited }) => exited));
});

describe('workers on queues, as processes', () => {
  it('a task of a killed worker is run again as its next attempt, and a late report of the old one changes nothing', async () => {
    const doomed = await startWorker();
    const id = await submitHold(1);
    await eventually(() => told(doomed, 'began').length === 1, 'the first attempt has begun');
    await untilStatus(id, 'Running');
    await doomed.end('SIGKILL');
    const next = await startWorker();
    const { attempt } = await untilStatus(id, 'Success');
    assert.equal(attempt, 2);
    assert.deepEqual(
      told(next, 'began').filter((line) => line.id === id),
      [{ event: 'began', id, attempt: 2 }],
    );
    const queue = new PostgresQueue({ database: database.database, clock: systemClock, log: silentLogger });
    const late = { type: 'CompleteTask', task_id: id, state: 'Failed', attempt: 1, reason: 'late' } as const;
    const rest = { root_container_id: null, data: null, expected_task_count: null, final: false };
    await queue.send(MANAGER_QUEUE, [{ body: encodeManagerMessage({ ...late, ...rest }) }]);
    await eventually(async () => {
      const { visible, in_flight } = await queue.depth(MANAGER_QUEUE);
      return visible + in_flight === 0;
    }, 'the late report was taken');
    await queue.close();
    const task = await client.getTask(id);
    assert.deepEqual([task.status, task.attempt, task.failure_reason], ['Success', 2, null]);
    await next.end('SIGTERM');
  });

  it('a worker that is asked to stop hands its task to another at once, in the same attempt', async () => {
    const first = await startWorker();
    const id = await submitHold(1);
    await eventually(() => told(first, 'began').length === 1, 'it has begun');
    const second = await startWorker();
    assert.equal(await first.end('SIGTERM'), 0);
    const [message] = await database.database.query<{ handed_back: boolean }>(
      {
        name: 'test.handed_back',
        text: `select receive_count > 1 or visible_at <= clock_timestamp() as handed_back
          from queue_message where queue = 'worker:hold' and strpos(body, $1) > 0`,
      },
      [id],
    );
    assert.ok(message!.handed_back, 'no worker waits for a lease to expire');
    assert.equal(told(first, 'aborted').length, 1);
    await eventually(() => told(second, 'began').length === 1, 'the other has begun');
    assert.deepEqual(told(second, 'began'), [{ event: 'began', id, attempt: 1 }]);
    await client.cancelTask(id);
    await eventually(() => told(second, 'aborted').length === 1, 'the cancel has reached the handler');
    assert.equal((await client.getTask(id)).status, 'Canceled');
    await second.end('SIGTERM');
  });

  it('a generator that is killed half-way makes each node once when it runs again', async () => {
    const count = 1000;
    const doomed = await startWorker();
    const { id } = await client.submitWorkflow({
      name: 'parts',
      root: {
        mode: 'sequential',
        children: [
          {
            mode: 'parallel',
            children: [
              { kind: 'PartGenerator', input: { count } },
              { id: 'parts', mode: 'parallel', children: [] },
            ],
          },
          { kind: 'Sum' },
        ],
      },
    });
    await eventually(() => told(doomed, 'half').length === 1, 'half of the nodes are made');
    await eventually(async () => (await client.getWorkflow(id, { tasks: false })).task_count > 200, 'some exist');
    await doomed.end('SIGKILL');
    const next = await startWorker();
    const workflow = await eventually(
      async () => {
        const each = await client.getWorkflow(id, { tasks: false });
        return each.state !== 'Running' && each.state !== 'Pending' && each;
      },
      'the workflow has ended',
      60_000,
    );
    assert.deepEqual([workflow.state, workflow.task_count, workflow.remaining], ['Succeeded', count + 2, 0]);
    const results: unknown[] = [];
    for await (const { kind, data } of client.workflowResults(id)) if (kind === 'Sum') results.push(data);
    assert.deepEqual(results, [count]);
    const generators = told(next, 'began').filter((line) => line.attempt === 2);
    assert.ok(generators.length >= 1);
    await next.end('SIGTERM');
  });
});
