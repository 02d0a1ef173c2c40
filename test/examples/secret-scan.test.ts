/**
 * The example that scans for secrets, end to end in separate processes: a server, a worker that may scan, a webhook.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { listen } from '../../examples/secret-scan/notified.ts';
import { plant, plantedFiles } from '../../examples/secret-scan/plant.ts';
import type { WorkerEvent } from 'heddle/internal/app/worker';
import { HeddleClient } from '@heddle/client';
import type { Database } from '@heddle/core/store/database';
import { heddle, HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';

type Workflow = Parameters<HeddleClient['submitWorkflow']>[0];
type Ready = WorkerEvent & { event: 'ready' };

const WORKFLOW = join(import.meta.dirname, '..', '..', 'examples', 'secret-scan', 'workflow.json');
const TOKEN = /ghp_[A-Za-z0-9]{36}/;

describe('the example secret-scan', () => {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-secret-scan-'));
  const running: HeddleProcess[] = [];
  const told: string[][] = [];
  let database: Database;
  let environment: Record<string, string>;
  let client: HeddleClient;
  let receiver: Server;
  let url = '';

  function start(args: readonly string[], extra: Record<string, string> = {}): HeddleProcess {
    const child = new HeddleProcess([...args, '--json'], { ...environment, ...extra });
    running.push(child);
    return child;
  }

  before(async () => {
    const created = await createTestDatabase();
    database = created.database;
    environment = {
      DATABASE_URL: created.url,
      HOST: '127.0.0.1',
      PORT: '0',
      WORKER_LOOP_INTERVAL_MS: '100',
      SKIP_SSRF_VALIDATION: '1',
    };
    plant(directory);
    const server = start(['server'], { HEDDLE_SCAN_IN_SERVER: '0' });
    ({ url } = await server.ready());
    client = new HeddleClient({ baseUrl: url });
    receiver = listen(url, 0, (lines) => told.push(lines));
    const worker = start(['worker'], { HEDDLE_SCAN_ROOTS: directory });
    const ready = await worker.event<Ready>('ready');
    assert.deepEqual([...ready.kinds].sort(), ['ObjectScan', 'ObjectScanAggregator', 'ObjectScanGenerator']);
  });

  after(async () => {
    receiver.close();
    for (const child of running) if (!child.ended) child.child.kill('SIGKILL');
    await Promise.all(running.map(({ exited }) => exited));
    rmSync(directory, { recursive: true, force: true });
  });

  /** The example's workflow, for this directory and this receiver. */
  function workflow(path = directory): Workflow {
    const { port } = receiver.address() as AddressInfo;
    const text = readFileSync(WORKFLOW, 'utf8');
    return JSON.parse(
      text.replace('.heddle/secret-scan', path).replace('127.0.0.1:9100', `127.0.0.1:${port}`),
    ) as Workflow;
  }

  async function run(path?: string): Promise<{ state: string; results: Record<string, Record<string, unknown>[]> }> {
    const { id } = await client.submitWorkflow(workflow(path));
    const state = await eventually(
      async () => {
        const { state: each } = await client.getWorkflow(id);
        return each === 'Pending' || each === 'Running' ? undefined : each;
      },
      'the workflow has ended',
      120_000,
    );
    const results: Record<string, Record<string, unknown>[]> = {};
    for await (const { kind, data } of client.workflowResults(id)) {
      (results[kind] ??= []).push(data as Record<string, unknown>);
    }
    return { state, results };
  }

  it('finds planted secrets in files, archives and encoded text, and reports them', async () => {
    const { state, results } = await run();
    assert.equal(state, 'Succeeded');
    assert.deepEqual(results['ObjectScanGenerator']![0]!['tasks'], results['ObjectScan']!.length);
    assert.equal(results['ObjectScan']!.length, 4, '34 files, 10 a task');
    const { complete, new: found, known, gone } = results['ObjectScanAggregator']![0]!;
    assert.deepEqual([complete, found, known, gone], [true, 4, 0, 0]);
    const lines = await eventually(() => told[0], 'the webhook has called');
    const places = lines.map((line) => line.slice(directory.length + 1).split(' ')[0]).sort();
    assert.deepEqual(places, [
      'backup/deploy.sh.gz!deploy.sh:1',
      'config/app.env:2',
      'config/old.env:1',
      'notes.txt:1',
    ]);
  });

  it('reports new, known and gone findings in a second run', async () => {
    rmSync(join(directory, 'config/old.env'));
    const { results } = await run();
    const { run: number, new: found, known, gone } = results['ObjectScanAggregator']![0]!;
    assert.deepEqual([number, found, known, gone], [2, 0, 3, 1]);
    const [one] = await client.findings.list({ target: 'example', state: 'gone' });
    assert.equal(one!.path, join(directory, 'config/old.env'));
    const listed = await heddle(['findings', 'list', '--state', 'known', '--url', url], environment);
    assert.match(listed.stdout, /^ID +STATE +TRIAGE +TARGET +CONFIDENCE +RULE +PLACE +SECRET$/m);
    assert.equal(listed.stdout.trim().split('\n').length, 4);
    const ignored = await heddle(['findings', 'ignore', one!.id, '--comment', 'rotated', '--url', url], environment);
    assert.match(ignored.stdout, /^comment +rotated$/m);
    assert.equal((await client.findings.get(one!.id)).triage.state, 'ignored');
  });

  it('reads only what the worker is allowed to, and reports the rest', async () => {
    const { state, results } = await run('/etc');
    assert.equal(state, 'Failed');
    assert.equal(results['ObjectScanAggregator'], undefined);
    const tasks = await client.listTasks({ kind: 'ObjectScanGenerator', status: 'Failure' });
    const { failure_reason } = await client.getTask(tasks[0]!.id);
    assert.match(failure_reason!, /^\/etc may not be read: this process may scan .* \(HEDDLE_SCAN_ROOTS\)/);
  });

  it('leaves no unredacted secret in the database or in a log', async () => {
    const secrets = Object.values(plantedFiles()).flatMap((content) => TOKEN.exec(content.toString())?.[0] ?? []);
    assert.ok(secrets.length >= 2);
    const tables = await database.query<{ name: string }>({
      name: 'test.tables',
      text: `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname in ('heddle', 'recon', 'public')`,
    });
    assert.ok(tables.length > 20);
    for (const { name } of tables) {
      const held = await database.query<{ n: number }>(
        {
          name: `test.held.${name}`,
          text: `select count(*) as n from ${name} x where x::text ~ 'ghp_[A-Za-z0-9]{20}'`,
        },
        [],
      );
      assert.equal(held[0]!.n, 0, name);
    }
    for (const { stdout, stderr } of running) assert.doesNotMatch(stdout + stderr, TOKEN);
  });

  it('is rejected by a server without scan roots', async () => {
    const server = start(['server'], { DATABASE_URL: (await createTestDatabase()).url });
    const ready = await server.ready();
    const other = new HeddleClient({ baseUrl: ready.url });
    const { id } = await other.submitWorkflow(workflow());
    await eventually(async () => (await other.getWorkflow(id)).state === 'Failed', 'the workflow has failed', 60_000);
    const [task] = await other.listTasks({ kind: 'ObjectScanGenerator' });
    assert.match((await other.getTask(task!.id)).failure_reason!, /may scan nothing: HEDDLE_SCAN_ROOTS is not set/);
    assert.equal(await server.end('SIGTERM'), 0);
  });
});
