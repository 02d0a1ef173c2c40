import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import type { StoredDemand } from './task-reads.ts';
import { numberArray, uuidArray } from './transitions.ts';

const RUNNERS_OF_TASKS: Statement = {
  name: 'runner_tasks.runners',
  text: withCodes(`select q.task_id, r.id, r.number, y.instance_type, r.address
    from unnest($1::uuid[], $2::integer[]) u(id, attempt)
    join runner_request q on q.task_id = u.id and q.attempt = u.attempt and q.state = :request_granted
    join runner r on r.request_id = q.id and r.state in (:runner_claimed, :runner_running) join runner_type y on y.id = r.type_id
    order by r.number`),
};

const HAS_RUNNER_TASKS: Statement = { name: 'runner_tasks.any', text: `select has_runner_tasks($1) as any` };

const DEMAND: Statement = { name: 'runner_tasks.demand', text: `select demand_of_tasks($1, $2) as demand` };

const WITHOUT_RUNNER: Statement = {
  name: 'runner_tasks.without_runner',
  text: `select task_id, attempt, reason, worn from attempts_without_runner($1, $2)`,
};

const RECALL_STRAYS: Statement = { name: 'runner_tasks.recover_orphans', text: `select recover_orphans($1) as count` };

/** Earlier waiting requests of the same class are counted up to 10,000. */
const REQUEST_OF_TASK: Statement = {
  name: 'explain.runner_request',
  text: withCodes(`select q.id, q.state, q.created_at, q.exhaustion, q.reason,
      (select count(*) from (
        select 1 from runner_request o join runner_shape p on p.id = o.shape_id
        where q.state = :request_waiting and o.state = :request_waiting and (o.rank, o.id) < (q.rank, q.id)
          and p.resource_class = s.resource_class and p.usage_class = s.usage_class limit 10000) x) as ahead,
      (select count(*) from runner r where r.shape_id = q.shape_id and r.state = :runner_created) as launching,
      (select json_agg(json_build_object('id', r.id, 'number', r.number, 'running', r.state = :runner_running) order by r.number)
        from runner r where r.request_id = q.id) as runners
    from runner_request q join runner_shape s on s.id = q.shape_id
    where q.task_id = $1 and q.state < :request_ended order by q.created_at desc limit 1`),
};

const NEEDS_ON_DEMAND: Statement = {
  name: 'explain.needs_on_demand',
  text: `select exists (select 1 from task_spec where task_id = $1 and requirements ? 'on_demand') as on_demand,
    exists (select 1 from blocked where task_id = $1) as blocked`,
};

export interface TaskRunnerRow {
  task_id: string;
  id: string;
  number: number;
  instance_type: string;
  address: string | null;
}

/** Runners of open attempts, in the order of their numbers. */
export function findRunnersOfTasks(
  queryable: Queryable,
  tasks: readonly { id: string; attempt: number }[],
): Promise<TaskRunnerRow[]> {
  return queryable.query(RUNNERS_OF_TASKS, [
    uuidArray(tasks.map(({ id }) => id)),
    numberArray(tasks.map(({ attempt }) => attempt)),
  ]);
}

export interface DemandRow {
  task_id: string;
  /** The next one. */
  attempt: number;
  requirements: StoredDemand;
  tenant: string;
}

/** Returns whether any task needs attention of the runner pool. */
export async function hasRunnerTasks(queryable: Queryable, now: string | null): Promise<boolean> {
  return (await queryable.query<{ any: boolean }>(HAS_RUNNER_TASKS, [now]))[0]!.any;
}

/** Returns the requirements of ready tasks without a request, most urgent first; drops stale ready rows. */
export async function demandOfTasks(
  queryable: Queryable,
  limit: number,
  now: string | null,
): Promise<{ seen: number; demands: DemandRow[] }> {
  const [row] = await queryable.query<{ demand: { seen: number; demands: DemandRow[] } | null }>(DEMAND, [limit, now]);
  return row!.demand ?? { seen: 0, demands: [] };
}

export interface LostAttempt {
  task_id: string;
  attempt: number;
  /** End of its runner. */
  reason: string;
  /** The task has lost too many attempts to be retried. */
  worn: boolean;
}

/** Returns open attempts whose runners ended or are interrupted; the latter request no spot runner from now on. */
export function findAttemptsWithoutRunner(
  queryable: Queryable,
  limit: number,
  now: string | null,
): Promise<LostAttempt[]> {
  return queryable.query(WITHOUT_RUNNER, [limit, now]);
}

/** Requeues tasks from the lane of a runner that is not theirs; returns their number. */
export async function recallStrays(queryable: Queryable, limit: number): Promise<number> {
  return (await queryable.query<{ count: number }>(RECALL_STRAYS, [limit]))[0]!.count;
}

export interface TaskRequestRow {
  id: string;
  /** 0: waiting; 1: granted. */
  state: number;
  created_at: number;
  exhaustion: number | null;
  /** Error of the last launch for it. */
  reason: string | null;
  ahead: number;
  launching: number;
  runners: { id: string; number: number; running: boolean }[] | null;
}

/** Returns a task's request to the pool, waiting or granted; null if there is none. */
export async function findRequestOfTask(queryable: Queryable, id: string): Promise<TaskRequestRow | null> {
  return (await queryable.query<TaskRequestRow>(REQUEST_OF_TASK, [id]))[0] ?? null;
}

/** Returns whether a task no longer requests spot runners, and whether a rule blocks it. */
export async function findRunnerWait(
  queryable: Queryable,
  id: string,
): Promise<{ on_demand: boolean; blocked: boolean }> {
  return (await queryable.query<{ on_demand: boolean; blocked: boolean }>(NEEDS_ON_DEMAND, [id]))[0]!;
}
