/** Scans of ports in `heddle worker` processes on queues, which are killed or canceled half-way. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { modelsOf } from '@heddle/test-support/engine/models/seen';
import { Listeners } from '@heddle/test-support/kinds/recon/listeners';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';

const LEASE_SECS = 5;
const WAIT_MS = 60_000;
/** One address, so that its ports are as many as there are listeners. */
const HOST = '127.30.0.1';
const PORTS = 700;
const SCAN = { method: 'connect', retries: 0, timeout_ms: 1000 };

let database: TestDatabase;
let client: HeddleClient;
const listeners = new Listeners();
const ports: number[] = [];
const processes: HeddleProcess[] = [];

function start(args: string[], environment: Record<string, string>): HeddleProcess {
  const child = new HeddleProcess([...args, '--json'], {
    DATABASE_URL: database.url,
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_LOOP_INTERVAL_MS: '100',
    WORKER_LEASE_SECS: String(LEASE_SECS),
    HEDDLE_WORKER_DRAIN_SECS: '0',
    ...environment,
  });
  processes.push(child);
  return child;
}

async function startWorker(): Promise<HeddleProcess> {
  const worker = start(['worker'], { HEDDLE_RECON_SCOPE: HOST });
  await worker.event('ready');
  return worker;
}

/** Submits a scan of all listeners at this rate of connections a second; returns its workflow. */
async function submitScan(target: string, rate: number): Promise<string> {
  const input = { ...SCAN, target, targets: [HOST], ports: ports.join(','), rate, host_rate: rate };
  const root = { mode: 'sequential' as const, children: [{ kind: 'TcpSynGenerator', input }] };
  return (await client.submitWorkflow({ name: target, root })).id;
}

async function scanOf(workflow: string) {
  const tasks = await client.listTasks({ batch_id: workflow });
  return tasks.find(({ kind }) => kind === 'TcpSyn');
}

async function chunksOf(): Promise<number> {
  const statement = { name: 'test.chunks', text: `select count(*)::integer as n from recon.scan_chunk` };
  return (await database.database.query<{ n: number }>(statement))[0]!.n;
}

before(async () => {
  database = await createTestDatabase();
  for (let count = 0; count < PORTS; count += 1) ports.push(await listeners.listen(HOST));
  // The server probes nothing itself: everything goes to the workers.
  const { url } = await start(['server'], { HEDDLE_RECON: '0' }).ready();
  client = new HeddleClient({ baseUrl: url });
});

after(async () => {
  for (const child of processes) if (!child.ended) child.child.kill('SIGKILL');
  await Promise.all(processes.map(({ exited }) => exited));
  await listeners.closeAll();
});

describe('scans of ports in workers on queues', () => {
  it('begin again where a worker was killed in the midst, and every port is in the models once', async () => {
    const doomed = await startWorker();
    // The first chunk has 500 records; at this rate, the rest leaves four seconds to kill.
    const workflow = await submitScan('killed', 50);
    await eventually(async () => (await chunksOf()) > 0, 'a chunk of records is kept', WAIT_MS);
    const scan = (await scanOf(workflow))!;
    assert.deepEqual([scan.status, scan.attempt], ['Running', 1]);
    await doomed.end('SIGKILL');
    const next = await startWorker();
    const ended = await eventually(
      async () => {
        const each = await client.getWorkflow(workflow, { tasks: false });
        return each.state !== 'Running' && each.state !== 'Pending' && each;
      },
      'the workflow has ended',
      WAIT_MS,
    );
    assert.equal(ended.state, 'Succeeded');
    assert.equal((await scanOf(workflow))!.attempt, 2);
    const models = modelsOf(database.database);
    const services = await models.list({ target: 'killed', model: 'service' }, { after: null, limit: 10_000 });
    assert.deepEqual(
      services.map(({ data, state, runs }) => [data['port'], state, runs]).sort(([a], [b]) => Number(a) - Number(b)),
      ports.toSorted((a, b) => a - b).map((port) => [port, 'new', 1]),
    );
    await next.end('SIGTERM');
  });

  it('stop sending when they are canceled', async () => {
    const worker = await startWorker();
    const workflow = await submitScan('canceled', 20);
    const before = listeners.connections.length;
    await eventually(() => listeners.connections.length > before + 5, 'the scan goes on', WAIT_MS);
    await client.cancelWorkflow(workflow);
    // At 20 a second it would never be quiet for so long.
    await eventually(() => performance.now() - listeners.connections.at(-1)! > 1_000, 'it is quiet', WAIT_MS);
    assert.equal((await scanOf(workflow))!.status, 'Canceled');
    await worker.end('SIGTERM');
  });
});
