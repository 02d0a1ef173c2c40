/** A runner on another machine: it has a token that registers it, and neither a database nor other rights. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { HeddleClient, type Task } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { newSecretKey } from '@heddle/base/keyring';
import { newId, systemRandom } from '@heddle/base/random';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { TokenStore } from '@heddle/core/store/tokens';
import { HeddleProcess, type Environment } from '@heddle/test-support/app/heddle-process';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';

const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';
const DEADLINE_MS = 90_000;
const MODULE = join(import.meta.dirname, '../../support/app/remote-worker-kinds.ts');
const ON_LARGE = { requirements: { resource_class: 'large' } };

/** The instance metadata service of a machine. */
interface Machine {
  instance: string;
  /** Interrupts the machine. */
  interrupt: () => void;
  metadata: Server;
  endpoint: string;
}

describe('a runner without a database', { concurrency: false }, () => {
  let directory: string;
  let server: Heddle;
  let serverStopped: Promise<void> | undefined;
  let client: HeddleClient;
  let tokens: TokenStore;
  let store: PostgresRunnerStore;
  const machines: Machine[] = [];
  const processes: HeddleProcess[] = [];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-runner-'));
    const keyFile = join(directory, 'keys');
    await writeFile(keyFile, `${newSecretKey()}\n`);
    const flags = {
      HEDDLE_REQUIRE_TOKENS: '1',
      HEDDLE_SECRET_KEY_FILE: keyFile,
      HEDDLE_ARTIFACTS_DIR: join(directory, 'artifacts'),
      HEDDLE_COMMANDS: 'off',
      // EC2 launches; here the test does.
      HEDDLE_POOL_PROVIDER: 'none',
      HEDDLE_POOL_HEARTBEAT_SECS: '0.5',
      HEDDLE_POOL_IDLE_TIMEOUT_SECS: '4000',
      HEDDLE_POOL_DISCONNECT_TIMEOUT_SECS: '12',
      HEDDLE_MODULES: MODULE,
    };
    server = await startHeddle({ flags, scopes: ['admin'] });
    client = new HeddleClient({ baseUrl: server.url, token: server.token! });
    tokens = new TokenStore({ database: server.database, clock: systemClock, random: systemRandom });
    store = new PostgresRunnerStore({ database: server.database });
  });

  after(async () => {
    for (const { child } of processes) child.kill('SIGKILL');
    await Promise.all(processes.map(({ exited }) => exited));
    for (const { metadata } of machines) metadata.close();
    await stopServer();
    await rm(directory, { recursive: true });
  });

  function stopServer(): Promise<void> {
    serverStopped ??= server.stop();
    return serverStopped;
  }

  const tokenFor = async (classes: readonly string[] | null): Promise<string> =>
    (await tokens.create(`runners of ${String(classes)}`, ['runner'], null, { kinds: null, classes })).text;

  /** Stores the launch of an instance, as a server does, and starts its metadata service. */
  async function launch(): Promise<Machine & { runnerId: string; batchId: string }> {
    const [batchId, runnerId] = [newId(), newId()];
    const instance = `i-${runnerId.replaceAll('-', '').slice(-17)}`;
    const usage = { usage_class: 'on-demand' as const, allowed_instance_types: [], cpu: null, memory_mib: null };
    const size = { cpu: 2, memory_mib: 4_096 };
    const requirements = { resource_class: 'large', ...usage };
    await store.plan([{ id: batchId, provider: 'ec2', requirements, ...size, runner_ids: [runnerId] }], 10);
    await store.takeBatches('ec2', 10, 60_000, { per_second: 100, burst: 100 });
    const launched = { runner_id: runnerId, provider_id: instance, instance_type: 'm7i.large', ...size };
    await store.launched(batchId, [launched], null);
    const answers: Record<string, string | undefined> = {
      '/latest/api/token': 'token',
      '/latest/meta-data/instance-id': instance,
      '/latest/meta-data/tags/instance/heddle:batch': batchId,
      '/latest/meta-data/local-ipv4': '10.0.0.7',
    };
    const metadata = createServer((request, response) => {
      const text = answers[request.url ?? ''];
      response.statusCode = text === undefined ? 404 : 200;
      response.end(text ?? 'not found');
    });
    await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(metadata.address() as AddressInfo).port}/`;
    const interrupt = (): void => {
      answers['/latest/meta-data/spot/instance-action'] = '{"action":"terminate","time":"2030-01-01T00:00:00Z"}';
    };
    const machine = { instance, interrupt, metadata, endpoint };
    machines.push(machine);
    return { ...machine, runnerId, batchId };
  }

  function start(machine: Machine, token: string, environment: Environment = {}): HeddleProcess {
    const started = new HeddleProcess(['worker', '--runner', 'ec2', '--json', '--module', MODULE], {
      HEDDLE_URL: server.url,
      HEDDLE_TOKEN: token,
      HEDDLE_DATA_DIR: join(directory, 'none'),
      HEDDLE_COMMANDS: TIER,
      WORKER_LEASE_SECS: '5',
      HEDDLE_WORKER_DRAIN_SECS: '0',
      AWS_EC2_METADATA_SERVICE_ENDPOINT: machine.endpoint,
      ...environment,
    });
    processes.push(started);
    return started;
  }

  async function ended(id: string): Promise<Task> {
    return eventually(
      async () => {
        const now = await client.getTask(id);
        return now.ended_at === null ? undefined : now;
      },
      `task ${id} has ended`,
      DEADLINE_MS,
    );
  }

  const stateOf = async (runnerId: string): Promise<string> => {
    const [row] = await store.list({ ids: [runnerId] }, { offset: 0, limit: 1 });
    return row!.state;
  };

  let first: HeddleProcess;
  let firstId: string;

  test('registers, and runs tasks of its class with their logs, files, secrets and results', async () => {
    const machine = await launch();
    firstId = machine.runnerId;
    first = start(machine, await tokenFor(['large']));
    const ready = await first.event<{ event: 'ready'; runner: string }>('ready', DEADLINE_MS);
    assert.equal(ready.runner, machine.runnerId);
    await client.secrets.set('PHRASE', 'correct horse', ['Command']);
    const input = {
      run: 'echo "<$IT>"; echo file > made.txt; exit 3',
      env: { IT: { secret: 'PHRASE' } },
      artifacts: ['made.txt'],
    };
    const { tasks } = await client.submit([{ name: 'command', kind: 'Command', metadata: input, ...ON_LARGE }]);
    const { id } = tasks[0]!;
    const task = await ended(id);
    assert.equal(task.failure_reason, 'it exited with 3: <***>', first.stderr);
    assert.deepEqual(
      (await client.taskLogs(id)).lines.map(({ text }) => text),
      ['<***>'],
    );
    assert.deepEqual(
      (await client.artifacts.list(id)).map(({ name }) => name),
      ['made.txt'],
    );
    const [attempt] = await client.taskAttempts(id);
    assert.match(attempt!.claimed_by!, new RegExp(`\\(token runner ${machine.runnerId}\\)$`));
    assert.equal(attempt!.exit_code, 3);
    await eventually(async () => (await stateOf(machine.runnerId)) === 'idle', 'it is free again', DEADLINE_MS);
  });

  test('runs a generator and an aggregator, one task after the other', async () => {
    const { id } = await client.submitWorkflow({
      name: 'on a runner',
      root: {
        mode: 'sequential',
        children: [
          { mode: 'sequential', children: [{ kind: 'remote.make', local_id: 'make', ...ON_LARGE }] },
          { kind: 'remote.sum', local_id: 'sum', ...ON_LARGE },
        ],
      },
    });
    const tree = await eventually(
      async () => {
        const now = await client.getWorkflow(id);
        return now.ended_at === null ? undefined : now;
      },
      'the workflow has ended',
      DEADLINE_MS,
    );
    assert.equal(tree.root.state, 'Succeeded', first.stderr);
    const sum = tree.root.children.find(({ local_id }) => local_id === 'sum') as { id: string };
    assert.deepEqual((await client.taskResult(sum.id))!.data, { total: 39 });
  });

  test('may do nothing but take and report its task', async () => {
    const registrar = new HeddleClient({ baseUrl: server.url, token: await tokenFor(['large']) });
    for (const refused of [
      () => registrar.listTasks(),
      () => registrar.work.claim({ kinds: ['Command'] }),
      () => registrar.runner.heartbeat(),
      () => registrar.pool.get(),
    ]) {
      await assert.rejects(refused(), { status: 403 });
    }
    // Another runner's task, and one that is not claimed.
    const { tasks } = await client.submit([
      { name: 'endless', kind: 'remote.endless', timeout: 600, ...ON_LARGE },
      { name: 'waits', kind: 'nobody' },
    ]);
    const [running, waiting] = [tasks[0]!.id, tasks[1]!.id];
    await eventually(async () => (await client.getTask(running)).status === 'Running', 'it runs', DEADLINE_MS);
    const machine = await launch();
    const registration = { batch_id: machine.batchId, provider_id: machine.instance };
    const others = new HeddleClient({ baseUrl: server.url, token: await tokenFor(['xlarge']) });
    await assert.rejects(others.runner.register(registration), { status: 403, message: /of xlarge, not of large/ });
    const { credential, orders } = await registrar.runner.register(registration);
    assert.equal(orders!.runner_id, machine.runnerId);
    const runner = new HeddleClient({ baseUrl: server.url, token: credential! });
    assert.equal((await runner.runner.heartbeat())!.state, 'idle');
    assert.deepEqual(await runner.runner.claim({ lease_secs: 60, holder: 'me' }), []);
    for (const [id, code] of [
      [running, 'HELD_BY_ANOTHER'],
      [waiting, 'STALE_ATTEMPT'],
    ] as const) {
      const task = { id, attempt: 1 };
      await assert.rejects(runner.work.log(task, { first_line: 0, lines: [{ text: 'not mine' }] }), { code });
      await assert.rejects(runner.work.secrets(task), { code });
      await assert.rejects(runner.work.results(task).next(), { code });
      await assert.rejects(runner.work.openArtifact(task, 'a/b'), { code });
    }
    await assert.rejects(runner.work.complete({ id: running, attempt: 1 }), { code: 'HELD_BY_ANOTHER' });
    await assert.rejects(runner.work.claim({ kinds: ['nobody'] }), { status: 403 });
    await assert.rejects(runner.listTasks(), { status: 403 });
    await assert.rejects(runner.runner.register(registration), { status: 403 });
    const forged = `${credential!.slice(0, -1)}${credential!.endsWith('A') ? 'B' : 'A'}`;
    const forger = new HeddleClient({ baseUrl: server.url, token: forged });
    await assert.rejects(forger.runner.heartbeat(), { status: 401 });
    const swapped = new HeddleClient({ baseUrl: server.url, token: credential!.replace(machine.runnerId, firstId) });
    await assert.rejects(swapped.runner.heartbeat(), { status: 401 });
    await runner.runner.drain('the test has ended');
    await client.cancelTask(running);
    await client.cancelTask(waiting);
    await ended(running);
  });

  test('a killed one loses its task to another; a stopped one hands it back', async () => {
    await eventually(async () => (await stateOf(firstId)) === 'idle', 'the first is free', DEADLINE_MS);
    const { tasks } = await client.submit([{ name: 'endless', kind: 'remote.endless', timeout: 600, ...ON_LARGE }]);
    const { id } = tasks[0]!;
    const runsAs = (attempt: number): Promise<unknown> =>
      eventually(
        async () => {
          const now = await client.getTask(id);
          return now.attempt === attempt && now.status === 'Running';
        },
        `attempt ${attempt} runs`,
        DEADLINE_MS,
      );
    await runsAs(1);
    first.child.kill('SIGKILL');
    await first.exited;
    await client.pool.terminate(firstId);
    const machine = await launch();
    const second = start(machine, await tokenFor(null));
    await runsAs(2);
    assert.equal(await second.end('SIGTERM'), 0, second.stderr);
    assert.equal(await stateOf(machine.runnerId), 'terminated');
    assert.equal((await client.getTask(id)).status, 'Pending');
    await client.cancelTask(id);
  });

  test('accepts no more claims once its machine is interrupted, and then ends', async () => {
    const machine = await launch();
    const runner = start(machine, await tokenFor(['large']));
    const rowOf = async () => (await store.list({ ids: [machine.runnerId] }, { offset: 0, limit: 1 }))[0]!;
    await eventually(async () => (await rowOf()).state === 'idle', 'it is idle', DEADLINE_MS);
    const { address, threshold, state_since } = await rowOf();
    assert.deepEqual(
      [address, threshold - state_since],
      ['10.0.0.7', 4_000_000],
      'it stays as long as the servers say',
    );
    machine.interrupt();
    assert.equal(await runner.exited, 0, runner.stderr);
    const { state, reason } = await rowOf();
    assert.deepEqual([state, reason], ['terminated', 'interrupted']);
  });

  test('ends itself once no server answers, at the time in the policy, whatever its own settings are', async () => {
    const machine = await launch();
    const runner = start(machine, await tokenFor(['large']), { HEDDLE_POOL_DISCONNECT_TIMEOUT_SECS: '3600' });
    await eventually(async () => (await stateOf(machine.runnerId)) === 'idle', 'it is idle', DEADLINE_MS);
    await stopServer();
    const { reason } = await runner.event<{ event: 'stopped'; reason: string }>('stopped', DEADLINE_MS);
    assert.match(reason, /^the pool did not answer for \d+ s$/);
    assert.equal(await runner.exited, 0, runner.stderr);
  });
});
