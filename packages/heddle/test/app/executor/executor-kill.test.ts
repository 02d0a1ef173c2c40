/**
 * An executor is killed repeatedly while callers submit: each submission has one outcome, and its caller receives it.
 */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { TransportFailure } from '@heddle/executor/client/port';
import { RemoteFailure } from '@heddle/executor/protocol/codes';
import { seededRandom } from '@heddle/base/random';
import type { RemoteExecutor } from '@heddle/executor/client';
import { eventually } from '@heddle/test-support/eventually';
import { temporaryDirectory } from '@heddle/test-support/postgres';
import { endpointOf, ExecutorSite, lastingPort, TRACING_EVENTS } from '../../support/app/executor/executor-process.ts';

const KILLS = process.env['HEDDLE_TEST_LONG'] === '1' ? 40 : 4;
const TASKS = KILLS * 12;
const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Date.now() % 100_000);

/** How one submission ended for its caller, who retries until an executor responds: the result, or the code. */
async function outcomeOf(
  client: RemoteExecutor,
  event: string,
  args: { id: string; file: string; ms: number },
): Promise<string> {
  for (;;) {
    try {
      return await client.submit<string>(event, args, { idempotencyKey: args.id });
    } catch (error) {
      if (error instanceof RemoteFailure && !error.retryable) return error.code;
      if (!(error instanceof RemoteFailure || error instanceof TransportFailure)) throw error;
    }
  }
}

describe(`an executor that is killed ${KILLS} times (seed ${SEED})`, () => {
  const site = new ExecutorSite();
  const traces = temporaryDirectory('heddle-traces-');
  const file = join(traces, 'trace.txt');
  const environment = {
    HEDDLE_EXECUTOR_TIER: 'process',
    HEDDLE_EXECUTOR_EVENTS_DIR: TRACING_EVENTS,
    // Its events write where this test reads.
    HEDDLE_EXECUTOR_PRIVATE_TMP: '0',
    HEDDLE_EXECUTOR_WORKER_COUNT: '3',
    HEDDLE_EXECUTOR_GRPC_BIND: '-',
    HEDDLE_EXECUTOR_XMLRPC_BIND: '-',
    HEDDLE_EXECUTOR_HTTP_BIND: '-',
    HEDDLE_EXECUTOR_TCP_BIND: '',
  };
  const lines = (): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);
  const startsOf = (id: string): string[] => lines().filter((line) => line.startsWith(`${id} started `));
  let client: RemoteExecutor;

  before(async () => {
    // Tasks run as separate users.
    chmodSync(traces, 0o755);
    writeFileSync(file, '');
    chmodSync(file, 0o666);
    await site.prepare();
    environment.HEDDLE_EXECUTOR_TCP_BIND = `127.0.0.1:${await lastingPort()}`;
    client = site.client(endpointOf(await site.start(environment), 'tcp'));
  });

  after(async () => {
    await client.close();
    await site.dispose();
    rmSync(traces, { recursive: true });
  });

  test('answers every submission once, and runs none twice that must not be', async () => {
    const random = seededRandom(SEED);
    const submissions = Array.from({ length: TASKS }, (_, index) => {
      const event = index % 2 === 0 ? 'Once' : 'Again';
      return { event, args: { id: `${event}-${index}`, file, ms: Math.floor(random.next() * 300) } };
    });
    const over = new Map<string, string>();
    const all = Promise.all(
      submissions.map(async ({ event, args }) => {
        over.set(args.id, await outcomeOf(client, event, args));
      }),
    );
    for (let kill = 0; kill < KILLS && over.size < TASKS; kill += 1) {
      const wanted = Math.min(TASKS, over.size + 1 + Math.floor(random.next() * 8));
      await eventually(() => over.size >= wanted, `${wanted} tasks have ended`, 60_000);
      await site.kill();
      await site.start(environment);
    }
    await all;

    for (const { event, args } of submissions) {
      const outcome = over.get(args.id);
      const starts = startsOf(args.id).length;
      const ended = lines().filter((line) => line.startsWith(`${args.id} ended `)).length;
      const told = `${args.id}: ${outcome}, ${starts} starts, ${ended} ends`;
      if (event === 'Once') assert.ok(starts <= 1, `it ran again: ${told}`);
      if (outcome === args.id) assert.ok(ended >= 1, `a result without a run: ${told}`);
      else assert.equal(outcome, 'WORKER_LOST', told);
    }
    assert.ok([...over].some(([id, outcome]) => id === outcome));
  });

  test('a repeated submission gets the first outcome, even from the next process', async () => {
    const args = { id: 'Once-repeated', file, ms: 0 };
    const submit = () => client.submit('Once', args, { idempotencyKey: args.id, acknowledge: 'never' });
    assert.equal(await submit(), args.id);
    await site.kill();
    await site.start(environment);
    assert.equal(await submit(), args.id);
    assert.equal(startsOf(args.id).length, 1);
  });

  test('tasks that were waiting at the stop run at the next start', async () => {
    const ids = Array.from({ length: 9 }, (_, index) => `Once-waiting-${index}`);
    const tasks = await Promise.all(
      ids.map((id) => client.submitAsync('Once', { id, file, ms: 150 }, { idempotencyKey: id })),
    );
    assert.equal(await site.run!.end('SIGTERM'), 0, site.run!.stderr);
    await site.start(environment);
    assert.deepEqual(await Promise.all(tasks.map((task) => task.result())), ids);
    assert.deepEqual(
      ids.map((id) => startsOf(id).length),
      ids.map(() => 1),
    );
  });
});
