import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '@heddle/core/domain/runner/runner';
import type { NewRequest, PoolTimes } from '@heddle/core/pool/port/store';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '@heddle/core/store/database';

const HOUR_MS = 3_600_000;
const CLASS = DEFAULT_RESOURCE_CLASSES[0]!;

export const TIMES: PoolTimes = {
  created_ms: HOUR_MS,
  register_ms: HOUR_MS,
  confirm_ms: HOUR_MS,
  claim_ms: HOUR_MS,
  idle_ms: HOUR_MS,
  heartbeat_max_age_ms: HOUR_MS,
  heartbeat_timeout_ms: HOUR_MS,
  recheck_ms: HOUR_MS,
  reserve_after_ms: 10_000,
};

const EMPTY: Statement = {
  name: 'bench.empty_pool',
  text: `truncate runner, runner_heartbeat, runner_request, runner_tenant`,
};

const FILL: Statement = {
  name: 'bench.fill_pool',
  text: `with type as (
      insert into runner_type (resource_class, usage_class, instance_type, cpu, memory_mib)
      select distinct $1, 0, u.name, $2::integer, $3::integer from unnest($4::text[]) u(name)
      on conflict (resource_class, usage_class, instance_type, cpu, memory_mib) do update set cpu = excluded.cpu
      returning id, instance_type
    ), made as (
      insert into runner (id, provider, provider_id, type_id, state, threshold, created_at, state_since)
      select gen_random_uuid(), 'bench', gen_random_uuid()::text, t.id, 1, now() + interval '1 hour', now(),
        now() - u.ord * interval '1 millisecond'
      from unnest($4::text[]) with ordinality u(name, ord) join type t on t.instance_type = u.name
      returning id, type_id, threshold
    ), alive as (
      insert into runner_heartbeat (runner_id, seen_at) select id, now() from made
    )
    select m.id, t.instance_type from made m join type t on t.id = m.type_id order by random()`,
};

const SETTLE: Statement = {
  name: 'bench.settle_pool',
  text: 'vacuum analyze runner, runner_heartbeat, runner_request',
};

const RESTOCK: Statement = {
  name: 'bench.restock',
  text: `update runner set state = 1, request_id = null, confirm_by = null, threshold = now() + interval '1 hour'
    where state = 2`,
};

const FORGET: Statement = { name: 'bench.forget_requests', text: 'truncate runner_request' };

export function openStore(database: Database): PostgresRunnerStore {
  return new PostgresRunnerStore({
    database,
    classes: DEFAULT_RESOURCE_CLASSES,
    times: TIMES,
    max_uses: null,
    now: () => null,
  });
}

/** Replaces the pool by one idle runner for each of these types, in random order. */
export async function fillPool(database: Database, types: readonly string[]): Promise<RunnerMessage[]> {
  await database.query(EMPTY);
  const rows = await database.query<{ id: string; instance_type: string }>(FILL, [
    CLASS.name,
    CLASS.cpu,
    CLASS.memory_mib,
    types,
  ]);
  await database.query(SETTLE);
  const threshold = Date.now() + HOUR_MS;
  return rows.map(({ id, instance_type }) => ({
    id,
    instance_type,
    threshold,
    resource_class: CLASS.name,
    usage_class: 'on-demand',
    cpu: CLASS.cpu,
    memory_mib: CLASS.memory_mib,
  }));
}

/** Makes every runner idle again and deletes the requests. */
export async function restock(database: Database): Promise<void> {
  await database.query(RESTOCK);
  await database.query(FORGET);
  await database.query(SETTLE);
}

export function requestOf(instanceType: string, count = 1, tenant = 'bench'): NewRequest {
  return {
    id: newId(),
    tenant,
    source: 'holder',
    run: 'bench',
    attempt: null,
    expires_at: null,
    resource_class: CLASS.name,
    usage_class: 'on-demand',
    allowed_instance_types: [instanceType],
    cpu: null,
    memory_mib: null,
    count,
  };
}
