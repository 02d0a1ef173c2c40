import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';

const KINDS = join(import.meta.dirname, '../support/reliability/poison-kinds.ts');
const LONG = process.env['HEDDLE_TEST_LONG'] === '1';
/** What a poisoned task has behind it when the test begins; with HEDDLE_TEST_LONG=1 it goes through all of it. */
const BEHIND = LONG ? 0 : 7;
const DEADLINE_MS = LONG ? 240_000 : 120_000;

let database: TestDatabase;
let client: HeddleClient;
const processes: HeddleProcess[] = [];

function start(...args: string[]): HeddleProcess {
  const child = new HeddleProcess([...args, '--json'], {
    DATABASE_URL: database.url,
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_LOOP_INTERVAL_MS: '100',
    WORKER_LEASE_SECS: '5',
    HEDDLE_WORKER_DRAIN_SECS: '0',
  });
  processes.push(child);
  return child;
}

/** A worker that is started again whenever it dies, as an operating system does it. */
class KeptWorker {
  deaths = 0;
  readonly #stopping = new AbortController();
  #process: HeddleProcess | undefined;
  readonly #kept: Promise<void>;

  constructor() {
    this.#kept = this.#keep();
  }

  /** By force: a worker that only starts, or is about to die by itself, need not end in order. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#process?.child.kill('SIGKILL');
    await this.#kept;
  }

  async #keep(): Promise<void> {
    for (;;) {
      this.#process = start('worker', '--module', KINDS);
      await this.#process.exited;
      if (this.#stopping.signal.aborted) return;
      this.deaths += 1;
    }
  }
}

async function submit(kind: string, input: Record<string, boolean>, count = 1): Promise<string> {
  const children = Array.from({ length: count }, () => ({ kind, input }));
  const { id } = await client.submitWorkflow({ name: kind, root: { mode: 'parallel', children } });
  return id;
}

async function taskOf(workflow: string): Promise<Awaited<ReturnType<HeddleClient['listTasks']>>[number]> {
  const [task] = await client.listTasks({ batch_id: workflow });
  return task!;
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

/** What a worker says of a task's beginning gets lost: it may have left already when the task kills its process. */
async function loseHeartbeats(task: string): Promise<void> {
  await database.database.query({
    name: 'test.define_lost_heartbeats',
    text: `create function lost_heartbeats() returns trigger language plpgsql as $$ begin
      return case when strpos(new.body, 'HeartbeatTask') = 0 or strpos(new.body, tg_argv[0]) = 0 then new end; end $$`,
  });
  await database.database.query({
    name: 'test.lose_heartbeats',
    text: `create trigger lost_heartbeats before insert on queue_message
      for each row execute function lost_heartbeats('${task}')`,
  });
}

describe('a task that takes its workers down with it', () => {
  it('fails in the end and says why, and the tasks beside it go on', async (t) => {
    const told = await submit('poison', { told: true });
    const crashes = await submit('crash', {});
    await database.database.query(
      {
        name: 'test.lose_attempts',
        text: `update task set attempt = $1 where id in (select id from task where workflow_id = any($2))`,
      },
      [BEHIND, `{${told},${crashes}}`],
    );
    const worker = new KeptWorker();
    t.after(() => worker.stop());
    const harmless: string[] = [];
    const failed = await eventually(
      async () => {
        if (harmless.length < 100) harmless.push(await submit('harmless', {}, 3));
        const tasks = await Promise.all([taskOf(told), taskOf(crashes)]);
        return tasks.every(({ status }) => status === 'Failure') && tasks;
      },
      'both have failed',
      DEADLINE_MS,
    );
    for (const { failure_reason, attempt } of failed) {
      assert.equal(attempt, 10);
      assert.match(
        failure_reason!,
        /^its worker was lost: no heartbeat of attempt 10 for 5\.?\d* s, and it is not tried again$/,
      );
    }
    t.diagnostic(`${worker.deaths} workers died`);
    assert.ok(worker.deaths >= 10 - BEHIND, `${worker.deaths} workers died`);
    await Promise.all(
      harmless.map((id) =>
        eventually(async () => (await client.getWorkflow(id)).state === 'Succeeded', `${id} succeeded`, 40_000),
      ),
    );
  });

  it('fails even if it dies before its start was reported, by its message', async (t) => {
    const workflow = await submit('poison', { told: false });
    await loseHeartbeats((await taskOf(workflow)).id);
    await eventually(async () => {
      const rows = await database.database.query<{ id: string }>(
        {
          name: 'test.receive_message',
          text: `update queue_message set receive_count = $1 where queue = 'worker:poison' and strpos(body, $2) > 0 returning id`,
        },
        [BEHIND, workflow],
      );
      return rows.length === 1;
    }, 'its message is in the queue of its workers');
    const worker = new KeptWorker();
    t.after(() => worker.stop());
    const task = await eventually(
      async () => {
        const each = await taskOf(workflow);
        return each.status === 'Failure' && each;
      },
      'it has failed',
      DEADLINE_MS,
    );
    assert.match(task.failure_reason!, /^its message (was delivered|became a dead letter: received) 10 times/);
    t.diagnostic(`${worker.deaths} workers died`);
    assert.ok(worker.deaths >= 9 - BEHIND, `${worker.deaths} workers died`);
    const harmless = await submit('harmless', {}, 3);
    await eventually(async () => (await client.getWorkflow(harmless)).state === 'Succeeded', 'others go on');
  });
});
