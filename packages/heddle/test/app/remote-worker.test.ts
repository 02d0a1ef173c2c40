/** `heddle worker` without a database: everything that its tasks need travels over HTTP, with a token for work only. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { HeddleClient, type Task } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { newSecretKey } from '@heddle/base/keyring';
import { systemRandom } from '@heddle/base/random';
import { TokenStore } from '@heddle/core/store/tokens';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';

const MODULE = join(import.meta.dirname, '../support/app/remote-worker-kinds.ts');
const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';
const KINDS = ['remote.measure', 'remote.make', 'remote.sum', 'remote.failing', 'remote.endless', 'Command'];

describe('a worker without a database', { concurrency: false }, () => {
  let directory: string;
  let server: Heddle;
  let client: HeddleClient;
  let worker: HeddleProcess;
  let token: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-remote-worker-'));
    const keyFile = join(directory, 'keys');
    await writeFile(keyFile, `${newSecretKey()}\n`);
    const flags = {
      HEDDLE_SECRET_KEY_FILE: keyFile,
      HEDDLE_REQUIRE_TOKENS: '1',
      HEDDLE_ARTIFACTS_DIR: join(directory, 'artifacts'),
      HEDDLE_COMMANDS: 'off',
    };
    server = await startHeddle({ flags, scopes: ['admin'] });
    client = new HeddleClient({ baseUrl: server.url, token: server.token! });
    const tokens = new TokenStore({ database: server.database, clock: systemClock, random: systemRandom });
    token = (await tokens.create('remote worker', ['work'], null, { kinds: KINDS, classes: null })).text;
    worker = start();
    await worker.ready();
  });

  after(async () => {
    worker.child.kill('SIGKILL');
    await worker.exited;
    await server.stop();
    await rm(directory, { recursive: true });
  });

  function start(...args: string[]): HeddleProcess {
    return new HeddleProcess(['worker', '--url', server.url, '--module', MODULE, '--json', ...args], {
      HEDDLE_TOKEN: token,
      HEDDLE_DATA_DIR: join(directory, 'none'),
      HEDDLE_COMMANDS: TIER,
      WORKER_LEASE_SECS: '5',
    });
  }

  async function ended(id: string): Promise<Task> {
    return eventually(async () => {
      const now = await client.getTask(id);
      return now.ended_at === null ? undefined : now;
    }, `task ${id} has ended`);
  }

  test('runs a generator, its tasks and an aggregator, with artifacts, logs and progress', async () => {
    const { id } = await client.submitWorkflow({
      name: 'remote',
      root: {
        mode: 'sequential',
        children: [
          { mode: 'sequential', children: [{ kind: 'remote.make', local_id: 'make' }] },
          { kind: 'remote.sum', local_id: 'sum' },
        ],
      },
    });
    const tree = await eventually(async () => {
      const now = await client.getWorkflow(id);
      return now.ended_at === null ? undefined : now;
    }, 'the workflow has ended');
    assert.equal(tree.root.state, 'Succeeded', worker.stderr);
    const sum = tree.root.children.find(({ local_id }) => local_id === 'sum') as { id: string };
    assert.deepEqual((await client.taskResult(sum.id))!.data, { total: 39 });
    const [made] = (tree.root.children[0] as { children: { id: string; kind?: string }[] }).children.filter(
      ({ kind }) => kind === 'remote.measure',
    );
    const task = await client.getTask(made!.id);
    assert.equal(task.success, 1);
    assert.deepEqual(
      (await client.taskLogs(made!.id)).lines.map(({ text }) => text),
      ['measured 13'],
    );
  });

  test('runs commands, with their output and exit codes', async () => {
    const input = { run: 'echo out; echo err >&2; echo file > made.txt; exit 3', artifacts: ['made.txt'] };
    const { tasks } = await client.submit([{ name: 'command', kind: 'Command', metadata: input }]);
    const { id } = tasks[0]!;
    const task = await ended(id);
    assert.equal(task.failure_reason, 'it exited with 3: err');
    const [attempt] = await client.taskAttempts(id);
    assert.equal(attempt!.exit_code, 3);
    assert.match(attempt!.claimed_by!, /\(token remote worker\)$/);
    assert.deepEqual((await client.taskLogs(id)).lines.map(({ text }) => text).toSorted(), ['err', 'out']);
    assert.deepEqual(
      (await client.artifacts.list(id)).map(({ name }) => name),
      ['made.txt'],
    );
  });

  test('gets the secrets that its tasks name, and redacts them', async () => {
    const value = 'correct horse';
    await client.secrets.set('PHRASE', value, ['Command']);
    await client.secrets.set('OTHER', 'of others', ['remote.sum']);
    const command = (name: string): object => ({
      run: 'echo "<$IT>"; test ${#IT} = 13',
      env: { IT: { secret: name } },
    });
    const { tasks } = await client.submit([
      { name: 'granted', kind: 'Command', metadata: command('PHRASE') as never },
      { name: 'not granted', kind: 'Command', metadata: command('OTHER') as never },
    ]);
    const [granted, refused] = [await ended(tasks[0]!.id), await ended(tasks[1]!.id)];
    assert.equal(granted.status, 'Success', String(granted.failure_reason));
    assert.deepEqual(
      (await client.taskLogs(granted.id)).lines.map(({ text }) => text),
      ['<***>'],
    );
    assert.match(String(refused.failure_reason), /the secret OTHER is not granted to Command/);
    const uses = (await client.audit.list()).filter(({ action }) => action.startsWith('secret '));
    assert.deepEqual(uses.map(({ action, object }) => [action, object]).toSorted(), [
      ['secret refuse', 'OTHER Command'],
      ['secret use', 'PHRASE Command'],
    ]);
    assert.match(uses[0]!.actor!, /\(token remote worker\)$/);
  });

  test('reports failures for good, and learns of cancellations by its heartbeats', async () => {
    const retry = { retry: { max_attempts: 3, backoff_secs: 1 } };
    const { tasks } = await client.submit([
      { name: 'failing', kind: 'remote.failing', ...retry },
      { name: 'endless', kind: 'remote.endless', timeout: 600 },
    ]);
    const failed = await ended(tasks[0]!.id);
    assert.deepEqual([failed.failure_reason, failed.attempt], ['it cannot work', 1]);
    const endless = tasks[1]!.id;
    await eventually(async () => (await client.taskLogs(endless)).lines.length > 0, 'it runs');
    await client.cancelTask(endless);
    await ended(endless);
    // Its place is free again: the next task of the worker runs.
    const again = await client.submit([{ name: 'again', kind: 'remote.failing' }]);
    await ended(again.tasks[0]!.id);
  });

  test('hands its tasks back when it stops; a killed one loses them to the next by its lease', async () => {
    const { tasks } = await client.submit([{ name: 'endless', kind: 'remote.endless', timeout: 600 }]);
    const { id } = tasks[0]!;
    const runsAs = (attempt: number): Promise<unknown> =>
      eventually(async () => {
        const now = await client.getTask(id);
        return (
          now.attempt === attempt &&
          now.status === 'Running' &&
          (await client.taskLogs(id, { attempt })).lines.length > 0
        );
      }, `attempt ${attempt} runs`);
    await runsAs(1);
    worker.child.kill('SIGKILL');
    await worker.exited;
    worker = start();
    await worker.ready();
    await runsAs(2);
    assert.equal((await client.taskAttempts(id))[1]!.outcome, 'lost');
    await client.cancelTask(id);
    assert.equal(await worker.end('SIGTERM'), 0, worker.stderr);
    worker = start();
    await worker.ready();
  });

  test('does not start for kinds that need the database', async () => {
    const refused = start('--kind', 'UpsertModels', '--kind', 'remote.sum');
    assert.equal(await refused.exited, 2);
    assert.match(
      refused.stderr,
      /--kind UpsertModels: needs a database, which this worker does not have: leave it to the servers, which run it/,
    );
  });

  test('has a token that allows nothing else', async () => {
    const restricted = new HeddleClient({ baseUrl: server.url, token });
    await assert.rejects(restricted.listTasks(), { status: 403 });
    await assert.rejects(restricted.submit([{ name: 'a', kind: 'Command' }]), { status: 403 });
    await assert.rejects(restricted.work.claim({ kinds: ['Other'] }), { status: 403, code: 'FORBIDDEN' });
    await assert.rejects(restricted.work.claim({ kinds: ['remote.sum', 'Other'] }), /the token is for/);
    await assert.rejects(restricted.secrets.list(), { status: 403 });
  });
});
