/**
 * Runs the example: starts its service, submits its batch, or resumes the batch of an interrupted run. By hand: `node
 * examples/file-inventory/run.ts [--url URL] [--root DIR]`.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { Api } from './api.ts';
import { buildDag } from './dag.ts';
import { findFiles, planShards } from './files.ts';
import { reportTable } from './report-table.ts';
import { Service, type Log, type ServiceOptions } from './service.ts';
import { load, REPORT_FILE, save, type Report } from './work.ts';

export interface ExampleOptions {
  /** URL of Heddle. */
  apiUrl: string;
  /** Bearer token that can submit and read, if one is required. */
  token?: string;
  log: Log;
  /** Heddle's data directory: the report is written below it. Default: HEDDLE_DATA_DIR, else `.heddle`. */
  directory?: string;
  /** Directory whose files are counted. Default: this package's. */
  root?: string;
  /** Pause after each part of the work, so that it can be watched; milliseconds. */
  paceMs?: number;
}

export interface RunningExample {
  batchId: string;
  /** Location of the report once the batch has ended. */
  reportFile: string;
  /** Resolves with the report as a table once it is written; with null if the example is closed before. */
  report: Promise<string | null>;
  close(): Promise<void>;
}

/** State that a later start needs to resume: the tasks contain this port and this key. */
interface State {
  batch_id: string;
  port: number;
  key: string;
}

const STATE_FILE = 'state.json';
const PACE_MS = 160;
const RETRY_SECS = 0.5;
const RETRY_SECS_UNPACED = 0.05;

export async function startExample(options: ExampleOptions): Promise<RunningExample> {
  const { log, paceMs = PACE_MS } = options;
  const root = resolve(options.root ?? join(import.meta.dirname, '..', '..'));
  const directory = resolve(
    options.directory ?? process.env['HEDDLE_DATA_DIR'] ?? '.heddle',
    'examples/file-inventory',
  );
  const api = new Api({ url: options.apiUrl, token: options.token });
  const announced = Promise.withResolvers<string | null>();
  const onAnnounced = (text: string): void => {
    log.info({ directory }, `file inventory: ${text}`);
    announced.resolve(text);
  };
  const base = { api, root, directory, paceMs, log, onAnnounced };
  const resumed = await resume(base);
  const { service, batchId } = resumed ?? (await begin(base));
  const report = announced.promise.then((text) => (text === null ? null : tableOf(directory)));
  const close = async (): Promise<void> => {
    announced.resolve(null);
    await service.close();
  };
  return { batchId, reportFile: join(directory, REPORT_FILE), report, close };
}

type Base = Omit<ServiceOptions, 'key' | 'port'>;

interface Begun {
  service: Service;
  batchId: string;
}

/** Submits a new batch. */
async function begin(base: Base): Promise<Begun> {
  const { api, root, directory, paceMs } = base;
  const key = randomBytes(24).toString('base64url');
  const run = randomUUID();
  await rm(join(directory, REPORT_FILE), { force: true });
  const shards = planShards(await findFiles(root));
  const service = await Service.start({ ...base, key, port: 0 });
  try {
    const retrySecs = paceMs > 0 ? RETRY_SECS : RETRY_SECS_UNPACED;
    const tasks = buildDag({ shards, serviceUrl: service.url, key, run, retrySecs });
    const batchId = await api.submit(tasks, 'file inventory', run);
    const state: State = { batch_id: batchId, port: service.port, key };
    await save({ directory }, STATE_FILE, state);
    return { service, batchId };
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** Resumes an interrupted batch; returns null if there is none, or if its port is in use. */
async function resume(base: Base): Promise<Begun | null> {
  const state = await load<State>(base, STATE_FILE).catch(() => null);
  if (state === null) return null;
  const { batch_id: batchId, key, port } = state;
  const dag = await base.api.dag(batchId).catch(() => null);
  if (dag === null || dag.batch.remaining === 0) return null;
  const service = await Service.start({ ...base, key, port }).catch(() => null);
  return service === null ? null : { service, batchId };
}

async function tableOf(directory: string): Promise<string | null> {
  return load<Report>({ directory }, REPORT_FILE).then(reportTable, () => null);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: process.env['HEDDLE_URL'] ?? 'http://127.0.0.1:8085' },
      token: { type: 'string', default: process.env['HEDDLE_TOKEN'] ?? '' },
      root: { type: 'string' },
      'pace-ms': { type: 'string', default: String(PACE_MS) },
    },
  });
  const say = (_fields: object, message: string): void => console.error(message);
  const example = await startExample({
    apiUrl: values.url,
    log: { info: say, warn: say },
    paceMs: Number(values['pace-ms']),
    ...(values.token === '' ? {} : { token: values.token }),
    ...(values.root === undefined ? {} : { root: values.root }),
  });
  console.error(`batch ${example.batchId}: follow it with \`heddle batch watch ${example.batchId}\``);
  process.once('SIGINT', () => void example.close());
  console.log((await example.report) ?? 'stopped; run it again to resume');
  await example.close();
}

if (process.argv[1] === import.meta.filename) await main();
