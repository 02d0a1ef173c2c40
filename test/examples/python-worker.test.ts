/** The Python worker as documented: a real process against a real server, with a token for work only. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';

const WORKER = join(import.meta.dirname, '../../examples/python-worker/worker.py');

const found = spawnSync('python3', ['--version']);
const missing = found.status === 0 ? false : 'python3 is not on this machine: the worker in Python was NOT run';
if (missing !== false) console.error(missing);

let server: Heddle;
let client: HeddleClient;
let workerToken: string;
const workers = new Set<ChildProcess>();

before(async () => {
  server = await startHeddle({ scopes: ['submit', 'operate'], flags: { HEDDLE_REQUIRE_TOKENS: '1' } });
  client = new HeddleClient({ baseUrl: server.url, token: server.token! });
  workerToken = (await server.system.tokens.create('worker', ['work'], null)).text;
});

after(async () => {
  await Promise.all([...workers].map((worker) => kill(worker)));
  await server.stop();
});

function startWorker(): ChildProcess {
  const worker = spawn('python3', [WORKER], {
    env: { ...process.env, HEDDLE_URL: server.url, HEDDLE_TOKEN: workerToken, LEASE_SECS: '5' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  workers.add(worker);
  return worker;
}

/** As after a power failure: nothing is released. */
async function kill(worker: ChildProcess): Promise<void> {
  workers.delete(worker);
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const gone = once(worker, 'exit');
  worker.kill('SIGKILL');
  await gone;
}

async function submit(metadata: Record<string, unknown>): Promise<string> {
  const { tasks } = await client.submit([{ name: 'Count', kind: 'CountWords', metadata }]);
  return tasks[0]!.id;
}

async function reaches(id: string, status: string): Promise<Awaited<ReturnType<HeddleClient['getTask']>>> {
  return eventually(async () => {
    const task = await client.getTask(id);
    return task.status === status && task;
  }, `task ${id} is ${status}`);
}

describe('the worker in Python', { skip: missing, concurrency: false }, () => {
  test('runs tasks, returns results, and reports failures', async () => {
    const worker = startWorker();
    const response = await fetch(`${server.url}/v1/workflows`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token!}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        root: {
          mode: 'parallel',
          children: ['one', 'one two', 'ä ö ü'].map((text) => ({ kind: 'CountWords', input: { text } })),
        },
      }),
    });
    const { id } = (await response.json()) as { id: string };
    const results = await eventually(async () => {
      const answer = await fetch(`${server.url}/v1/workflows/${id}/results`, {
        headers: { authorization: `Bearer ${server.token!}` },
      });
      const page = (await answer.json()) as { data: { words: number } }[];
      return page.length === 3 && page;
    }, 'three results');
    assert.deepEqual(results.map(({ data }) => data.words).sort(), [1, 2, 3]);
    const failed = await reaches(await submit({ no_text: true }), 'Failure');
    assert.equal(failed.failure_reason, "KeyError('text')");
    await kill(worker);
  });

  test('that is killed loses its task to another worker, which runs it as the next attempt', async () => {
    const first = startWorker();
    const id = await submit({ text: 'lost and found', pause_secs: 2 });
    assert.equal((await reaches(id, 'Running')).attempt, 1);
    await kill(first);
    const second = startWorker();
    const done = await reaches(id, 'Success');
    assert.equal(done.attempt, 2);
    await kill(second);
  });

  test('stops when its task is canceled, and takes the next one', async () => {
    const worker = startWorker();
    const long = await submit({ text: 'endless', pause_secs: 3600 });
    const next = await submit({ text: 'the next' });
    await reaches(long, 'Running');
    await client.cancelTask(long);
    await reaches(next, 'Success');
    assert.equal((await client.getTask(long)).status, 'Canceled');
    await kill(worker);
  });
});
