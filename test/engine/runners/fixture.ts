import { createHash } from 'node:crypto';

import type { NewTask } from '../../../src/domain/task.ts';
import type { ClaimedTask, Engine, RunnerDesk, TaskDemand } from '../../../src/engine/port.ts';
import { newId } from '../../../src/runtime/random.ts';
import type { Database, Queryable } from '../../../src/store/database.ts';
import { createTestDatabase } from '../../support/postgres.ts';
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

const TIMES = JSON.stringify({
  confirm_ms: 10_000,
  claim_ms: 300_000,
  idle_ms: 300_000,
  fresh_ms: 15_000,
  patience_ms: 10_000,
  silent_ms: 30_000,
  doubt_ms: 60_000,
  max_uses: null,
});

/** A manager whose desk and runners speak the database's own words: no pool runs beside it. */
export interface RunnerBench extends Bench {
  /** Every demand that the manager sent, in order. */
  asked: TaskDemand[];
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
  const asked: TaskDemand[] = [];
  const desk: RunnerDesk = {
    async ask(demands) {
      asked.push(...demands);
      await askInDatabase(inner, demands);
    },
  };
  return {
    url,
    ...benchOn(wrap(inner), {}, desk),
    asked,
    rows: <Row extends object>(text: string, values: readonly unknown[] = []) => rowsOf<Row>(inner, text, values),
  };
}

/** One run of the manager without messages. */
export async function pass({ manager }: Pick<RunnerBench, 'manager'>): Promise<void> {
  const { error } = await manager.run([], Date.now(), { upkeep: false });
  if (error !== null) throw error;
}

/** Makes a runner that is idle. */
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
  await rows(`insert into runner_pulse (runner_id, seen_at) values ($1, now())`, [id]);
  return runner!;
}

/** Grants new runners, which confirm at once, to what a task waits for; the lowest number first. */
export async function grant(bench: RunnerBench, taskId: string, confirms = true): Promise<TestRunner[]> {
  const { rows } = bench;
  const [request] = await rows<{ id: string; count: number }>(
    `select id, count from runner_request where task_id = $1 and state = 0`,
    [taskId],
  );
  if (request === undefined) throw new Error('the task waits for no runner');
  const runners: TestRunner[] = [];
  for (let made = 0; made < request.count; made += 1) runners.push(await addRunner(bench));
  const ids = runners.map(({ id }) => id);
  await rows(`select runner_grant($1::uuid, $2::uuid[], null, $3::jsonb)`, [request.id, ids, TIMES]);
  for (const id of confirms ? ids : []) await rows(`select runner_confirm($1::uuid, 1, null)`, [id]);
  return runners;
}

/** Ends a runner, whatever it does. */
export async function endRunner({ rows }: RunnerBench, { id }: TestRunner, reason: string): Promise<void> {
  await rows(`select runner_terminate(array[$1::uuid], $2, null, $3::jsonb)`, [id, reason, TIMES]);
}

/** As an agent whose task is over does. */
export async function releaseRunner({ rows }: RunnerBench, { id }: TestRunner): Promise<void> {
  await rows(`select runner_release($1::uuid, null, null, $2::jsonb)`, [id, TIMES]);
}

export async function drainRunner({ rows }: RunnerBench, { id }: TestRunner, reason: string): Promise<void> {
  await rows(`select runner_drain(array[$1::uuid], $2, null, $3::jsonb)`, [id, reason, TIMES]);
}

/** Lets go of what is held for tasks that are over, as the pool's sweep does. */
export async function releaseOver({ rows }: RunnerBench): Promise<void> {
  await rows(`select runner_release_over(1000, clock_timestamp(), $1::jsonb)`, [TIMES]);
}

export function claimAt(engine: Engine, { number }: TestRunner): Promise<ClaimedTask[]> {
  return engine.claim({ lanes: [`runner:${number}`], limit: 10, holder: `runner ${number}` });
}

/** What the pool's store does with what it is asked. */
async function askInDatabase(database: Queryable, demands: readonly TaskDemand[]): Promise<void> {
  const keyOf = (demand: TaskDemand): string =>
    JSON.stringify([demand.resource_class, demand.usage_class, demand.allowed_instance_types]);
  const shapes = new Map<string, number>();
  for (const demand of demands) {
    const key = keyOf(demand);
    if (shapes.has(key)) continue;
    const [shape] = await rowsOf<{ id: number }>(
      database,
      `insert into runner_shape (key, resource_class, usage_class, requirements) values ($1, $2, $3, '{}')
        on conflict (key) do update set key = excluded.key returning id`,
      [key, demand.resource_class, demand.usage_class === 'spot' ? 1 : 0],
    );
    shapes.set(key, shape!.id);
  }
  await rowsOf(
    database,
    `select runner_ask($1::uuid[], $2::integer[], $3::text[], $4::integer[], array_fill(0::smallint, array[cardinality($1::uuid[])]),
      $5::text[], $6::integer[], array_fill(null::timestamptz, array[cardinality($1::uuid[])]), null)`,
    [
      demands.map(({ id }) => id),
      demands.map((demand) => shapes.get(keyOf(demand))!),
      demands.map(({ tenant }) => tenant),
      demands.map(({ count }) => count),
      demands.map(({ task_id }) => task_id),
      demands.map(({ attempt }) => attempt),
    ],
  );
}

function rowsOf<Row extends object>(database: Queryable, text: string, values: readonly unknown[]): Promise<Row[]> {
  const name = `test.${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
  return database.query<Row>({ name, text }, values);
}
