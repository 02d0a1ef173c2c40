/** A server that is killed while many small logs pass through it: what has ended has its lines, each once. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { seededRandom } from '@heddle/base/random';
import { systemClock } from '@heddle/base/clock';
import { DataDirectory, type HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';

const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Math.floor(Math.random() * 1e6));
const KILLS = 2;
const TASKS = 300;

const data = DataDirectory.prepared();
after(() => data.dispose());

function start(port: number): HeddleProcess {
  return data.up({
    PORT: String(port),
    HEDDLE_MODULES: join(import.meta.dirname, '../support/reliability/logging-kinds.ts'),
    WORKER_LEASE_SECS: '5',
    WORKER_LOOP_INTERVAL_MS: '200',
  });
}

test(`an ended task has all lines of its log after kill -9 of the server (HEDDLE_TEST_SEED=${SEED})`, async (t) => {
  const random = seededRandom(SEED);
  let run = start(0);
  const { url, port } = await run.ready();
  const client = new HeddleClient({ baseUrl: url });
  const ids: string[] = [];
  const submitMore = async (): Promise<void> => {
    const count = TASKS / (KILLS + 1);
    const { tasks } = await client.submit(
      Array.from({ length: count }, (_, index) => ({
        name: `chatter ${ids.length + index}`,
        kind: 'chatter',
        metadata: { number: ids.length + index },
        retry: { max_attempts: 20, backoff_secs: 1, max_backoff_secs: 1 },
      })),
    );
    ids.push(...tasks.map(({ id }) => id));
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    await submitMore();
    await systemClock.sleep(Math.floor(random.next() * 600));
    data.kill();
    await run.exited;
    await data.gone();
    run = start(port);
    await run.ready();
  }
  await submitMore();
  let again = 0;
  for (const [number, id] of ids.entries()) {
    const ended = async (): Promise<number | undefined> => {
      const { status, attempt } = await client.getTask(id);
      return status === 'Success' ? attempt : undefined;
    };
    const attempt = await eventually(ended, `task ${number} has succeeded`, 120_000);
    if (attempt > 1) again += 1;
    const { lines } = await client.taskLogs(id, { attempt });
    assert.deepEqual(
      lines.map((line) => [line.number, line.stream, line.text]),
      Array.from({ length: 10 }, (_, line) => {
        return [line, line % 2 === 0 ? 'stdout' : 'log', `${number} line ${line} of attempt ${attempt}`];
      }),
    );
  }
  t.diagnostic(`${again} of ${ids.length} tasks ran again`);
  assert.equal(await run.end('SIGINT'), 0, run.stderr);
  await data.gone();
});
