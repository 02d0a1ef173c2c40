/** A server with a day's work in it, made through its API, for pictures of the console and for tests of every view. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DataDirectory, HeddleProcess, heddle } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { makeSecrets } from './showcase-secrets.ts';
import { Api } from '../api.ts';
import { INVOICES, ORDERS, ordersOf, RESIZE } from './showcase-runs.ts';
import { makeSurface } from './showcase-surface.ts';

const KINDS = join(import.meta.dirname, 'showcase-kinds.ts');
const EVENTS = join(import.meta.dirname, '../../../../examples/remote-events');
const DEADLINE_MS = 90_000;

/** What views are about. */
export interface ShownIds {
  /** A batch of which some tasks failed. */
  failedBatch: string;
  failedTask: string;
  /** A workflow that is under way. */
  workflow: string;
  /** A batch with many equal tasks. */
  wideBatch: string;
}

interface Submitted {
  id: string;
  batch_id: string;
}

export class Showcase {
  readonly #data = DataDirectory.prepared();
  readonly #processes: HeddleProcess[] = [];
  #worker: HeddleProcess | undefined;
  url = '';
  ids!: ShownIds;

  static async start(): Promise<Showcase> {
    const showcase = new Showcase();
    try {
      await showcase.#start();
    } catch (error) {
      await showcase.stop();
      throw error;
    }
    return showcase;
  }

  async #start(): Promise<void> {
    const { path } = this.#data;
    const keys = join(path, 'keys');
    await heddle(['keys', 'generate', '--out', keys, '--client', 'console'], {});
    const executor = this.#add(startExecutor(path, join(keys, 'keys.json')));
    const { listeners } = await executor.event<{ event: 'ready'; listeners: { protocol: string; url: string }[] }>(
      'ready',
    );
    const server = this.#add(
      this.#data.up({
        HEDDLE_EXAMPLES: '1',
        HEDDLE_EXECUTORS: `sandbox=${listeners.find(({ protocol }) => protocol === 'grpc')!.url}`,
        HEDDLE_EXECUTOR_CLIENT: join(keys, 'client-console.json'),
        HEDDLE_POOL_MAX_RUNNERS: '2',
        HEDDLE_SCAN_ROOTS: path,
        HEDDLE_WEBHOOK_END_RETRY_SECS: '1',
      }),
    );
    this.url = (await server.ready()).url;
    this.#worker = startWorker(path, this.url);
    await this.#worker.ready();
    this.ids = await fill(new Api(this.url), path);
  }

  #add(process: HeddleProcess): HeddleProcess {
    this.#processes.push(process);
    return process;
  }

  async stop(): Promise<void> {
    // Its tasks take longer than anybody wants to wait for.
    if (this.#worker?.ended === false) await this.#worker.end('SIGKILL');
    for (const process of this.#processes.toReversed()) if (!process.ended) await process.end('SIGINT');
    await this.#data.dispose();
  }
}

function startExecutor(directory: string, keys: string): HeddleProcess {
  const binds = Object.fromEntries(
    ['GRPC', 'XMLRPC', 'TCP', 'HTTP'].map((name) => [`HEDDLE_EXECUTOR_${name}_BIND`, '127.0.0.1:0']),
  );
  const args = ['executor', '--keys', keys, '--events', EVENTS, '--allow', '*', '--json'];
  return new HeddleProcess(args, { ...binds, HEDDLE_EXECUTOR_DATA: join(directory, 'executor') });
}

function startWorker(directory: string, url: string): HeddleProcess {
  const environment = { HEDDLE_DATA_DIR: join(directory, 'none'), HEDDLE_WORKER_CONCURRENCY: '12' };
  return new HeddleProcess(['worker', '--url', url, '--module', KINDS, '--json'], environment);
}

async function fill(api: Api, directory: string): Promise<ShownIds> {
  for (const day of ['Monday', 'Tuesday', 'Wednesday']) await submitBatch(api, ORDERS, ordersOf(day, []));
  const failed = await submitBatch(api, ORDERS, ordersOf('Thursday', ['eu', 'us']));
  await submitBatch(api, ORDERS, ordersOf('Friday', ['us']));
  await submitBatch(api, ORDERS, ordersOf('Saturday', []));
  await makeJobs(api);
  await makeSecrets(api, directory);
  await makeSurface(api);
  await makeTroubles(api);
  const failedTask = await eventually(
    async () => {
      const found = await api.get<{ tasks: { id: string; name: string; status: string }[] }>(
        `/dag/${failed[0]!.batch_id}`,
      );
      return found.tasks.find(({ name, status }) => name === 'load eu' && status === 'Failure')?.id;
    },
    'a task of the batch has failed',
    DEADLINE_MS,
  );
  await eventually(
    async () => {
      const jobs = await api.get<{ name: string; last_run: { state: string } | null }[]>('/v1/jobs');
      const states = jobs.map(({ last_run }) => last_run?.state);
      return jobs.length >= 4 && !states.includes('Running');
    },
    'the runs of the jobs have ended',
    DEADLINE_MS,
  );
  // Last, since their tasks leave the worker little room.
  const wide = await submitBatch(api, 'resize product images', RESIZE);
  const { id: workflow } = await api.post<{ id: string }>('/v1/workflows', INVOICES);
  await api.post('/v1/pool/requests', { resource_class: 'large', count: 1, tenant: 'showcase' }).catch(() => undefined);
  return { failedBatch: failed[0]!.batch_id, failedTask, workflow, wideBatch: wide[0]!.batch_id };
}

function submitBatch(api: Api, name: string, tasks: readonly object[]): Promise<Submitted[]> {
  return api.post(`/task?batch_name=${encodeURIComponent(name)}`, tasks);
}

async function makeJobs(api: Api): Promise<void> {
  const one = (kind: string, input: object) => ({
    root: { mode: 'sequential', children: [{ id: 'run', kind, input }] },
  });
  const fails = 'HTTP 503 from orders.example.com: the database is being restored';
  const jobs = [
    {
      name: 'nightly-import',
      cron: '0 3 * * *',
      time_zone: 'Europe/Berlin',
      workflow: one('Extract', { fails, secs: 1 }),
    },
    { name: 'hourly-report', cron: '@hourly', workflow: one('Report', { secs: 1, result: { orders: 4711 } }) },
    { name: 'weekly-cleanup', cron: '30 5 * * 1', paused: true, workflow: one('Transform', {}) },
  ];
  for (const job of jobs) {
    await api.post('/v1/jobs', job);
    if (job.paused !== true) await api.post(`/v1/jobs/${job.name}/trigger`, {});
  }
}

/** A misspelled kind, a target that does not answer, a rule that is full, a program as a worker. */
async function makeTroubles(api: Api): Promise<void> {
  await api.post('/task?batch_name=fix%20prices', [
    { name: 'fix prices', kind: 'Tranform', metadata: { table: 'prices' } },
  ]);
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const params = { url: `http://127.0.0.1:${port}/paid`, verb: 'Post', body: { order: 4711 } };
  const on_success = [{ kind: 'Webhook', params, max_tries: 1 }];
  await api.post('/task?batch_name=billing', [{ name: 'bill order 4711', kind: 'bill', on_success }]);
  const { id, attempt } = await api.claimOne('bill');
  await api.post(`/v1/work/${id}/complete`, { attempt });
  const matcher = { kind: 'ingest', status: 'Running', fields: ['tenant'] };
  const rules = [{ type: 'Concurrency', matcher, max_concurrency: 1 }];
  const ingest = [7, 7, 7, 8].map((tenant, at) => ({
    name: `ingest ${at + 1}`,
    kind: 'ingest',
    metadata: { tenant },
    rules,
  }));
  await api.post('/task?batch_name=ingest', ingest);
  await api.claim('ingest');
}
