import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { NewTask } from '@heddle/base/vocabulary/task';
import type { ClaimedTask, Engine, RunnerBroker, TaskRunnerRequest } from '@heddle/core/engine/port';
import type { NewRequest, PoolTimes, RunnerStore } from '@heddle/core/pool/port/store';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { newId } from '@heddle/base/random';
import type { Database, Queryable } from '@heddle/core/store/database';
import { createTestDatabase } from '../../postgres.ts';
import { newTask } from '../fixture.ts';
import { benchOn, type Bench } from '../manager/bench.ts';

export const LARGE: NonNullable<NewTask['requirements']> = {
  resource_class: 'large',
  usage_class: 'on-demand',
  allowed_instance_types: [],
  cpu: null,
  memory_mib: null,
  count: 1,
};

const TIMES: PoolTimes = {
  created_ms: 600_000,
  register_ms: 180_000,
  confirm_ms: 600_000,
  claim_ms: 600_000,
  idle_ms: 600_000,
  heartbeat_max_age_ms: 600_000,
  heartbeat_timeout_ms: 600_000,
  recheck_ms: 600_000,
  reserve_after_ms: 10_000,
};

/** A manager whose broker is the store of the pool; no pool runs, and tests create runners themselves. */
export interface RunnerBench extends Bench {
  /** Every demand of the manager, in order. */
  asked: TaskRunnerRequest[];
  /** Error to be thrown by the broker; the manager continues without it. */
  failures: unknown[];
  store: RunnerStore;
  rows: <Row extends object>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
}

export interface TestRunner {
  id: string;
  number: number;
}

export function needy(extra: Partial<NewTask> = {}): NewTask {
  return newTask({ requirements: LARGE, ...extra });
}

export async function newRunnerBench(
  wrap: (database: Database) => Database = (database) => database,
): Promise<RunnerBench> {
  const { database: inner, url } = await createTestDatabase();
  const asked: TaskRunnerRequest[] = [];
  const failures: unknown[] = [];
  const store = new PostgresRunnerStore({
    database: inner,
    classes: DEFAULT_RESOURCE_CLASSES,
    times: TIMES,
    max_uses: null,
    now: () => null,
  });
  const desk: RunnerBroker = {
    async ask(demands) {
      asked.push(...demands);
      try {
        await store.ask(demands.map(requestOf));
      } catch (error) {
        failures.push(error);
      }
    },
  };
  return {
    url,
    ...benchOn(wrap(inner), {}, desk),
    asked,
    failures,
    store,
    rows: <Row extends object>(text: string, values: readonly unknown[] = []) => rowsOf<Row>(inner, text, values),
  };
}

function requestOf({ task_id, ...demand }: TaskRunnerRequest): NewRequest {
  return { ...demand, source: 'task', run: task_id, expires_at: null };
}

/** One run of the manager without messages. */
export async function pass({ manager, failures }: RunnerBench): Promise<void> {
  const { error } = await manager.run([], Date.now(), { upkeep: false });
  if (error !== null) throw error;
  assert.deepEqual(failures, []);
}

/** Creates an idle runner. */
export async function addRunner({ rows }: RunnerBench): Promise<TestRunner> {
  const id = newId();
  const [type] = await rows<{ id: number }>(
    `insert into runner_type (resource_class, usage_class, instance_type, cpu, memory_mib)
      values ('large', 0, 'local.large', 2, 4096) on conflict (resource_class, usage_class, instance_type, cpu, memory_mib)
      do update set cpu = 2 returning id`,
  );
  const [runner] = await rows<TestRunner>(
    `insert into runner (id, provider, provider_id, type_id, state, threshold, created_at, state_since, address)
      values ($1::uuid, 'test', $1::text, $2, 1, '9999-12-31', now(), now(), '10.0.0.1') returning id, number`,
    [id, type!.id],
  );
  await rows(`insert into runner_heartbeat (runner_id, seen_at) values ($1, now())`, [id]);
  return runner!;
}

/** Grants new runners, which confirm at once, to the request of a task; the lowest number first. */
export async function grant(bench: RunnerBench, taskId: string, confirms = true): Promise<TestRunner[]> {
  const { rows, store } = bench;
  const [request] = await rows<{ id: string; count: number }>(
    `select id, count from runner_request where task_id = $1 and state = 0`,
    [taskId],
  );
  if (request === undefined) throw new Error('the task waits for no runner');
  const runners: TestRunner[] = [];
  for (let made = 0; made < request.count; made += 1) runners.push(await addRunner(bench));
  const ids = runners.map(({ id }) => id);
  await rows(`select runner_grant($1::uuid, $2::uuid[], null, $3::jsonb)`, [
    request.id,
    ids,
    JSON.stringify({ ...TIMES, max_uses: null }),
  ]);
  for (const id of confirms ? ids : []) assert.ok(await store.confirm(id, 1));
  return runners;
}

/** Ends a runner, even if it is working. */
export async function endRunner({ store }: RunnerBench, { id }: TestRunner, reason: string): Promise<void> {
  assert.equal(await store.terminate([id], reason), 1);
}

/** Releases a runner like an agent after its task; the runner ends, so that no other task gets it. */
export async function releaseRunner({ store }: RunnerBench, { id }: TestRunner): Promise<void> {
  await store.drain([id], 'drained');
  assert.ok(await store.release(id, null));
}

/** Releases runners of tasks that have ended. */
export async function releaseOver({ store }: RunnerBench): Promise<void> {
  await store.sweep(1_000, []);
}

export function claimAt(engine: Engine, { number }: TestRunner): Promise<ClaimedTask[]> {
  return engine.claim({ lanes: [`runner:${number}`], limit: 10, holder: `runner ${number}` });
}

function rowsOf<Row extends object>(database: Queryable, text: string, values: readonly unknown[]): Promise<Row[]> {
  const name = `test.${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
  return database.query<Row>({ name, text }, values);
}
