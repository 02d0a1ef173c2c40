import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Database, Statement } from '@heddle/core/store/database';

/** Slots whose count is not what tasks hold of them and ready rows were promised: none, at any moment. */
const WRONG_SLOTS: Statement = {
  name: 'audit.wrong_slots',
  text: `with held as (
      select h.slot, sum(slot_amount(h.slot, t.expected_count, t.success_count, t.failure_count)) as amount
      from task t, unnest(t.slots) h(slot) group by h.slot
    ), promised as (
      select g.slot, count(*) as amount from ready r, unnest(r.slots) g(slot) group by g.slot
    )
    select coalesce(s.id, h.slot, p.slot)::text as slot, s.key, s.used, h.amount as held, p.amount as promised
    from slot s full join held h on h.slot = s.id full join promised p on p.slot = coalesce(s.id, h.slot)
    where coalesce(s.used, 0) <> coalesce(h.amount, 0) + coalesce(p.amount, 0)`,
};

const OPEN_ATTEMPTS: Statement = {
  name: 'audit.open_attempts',
  text: `select k.name as kind, t.metadata ->> 'tenant' as tenant,
      greatest(coalesce(t.expected_count, 0) - t.success_count - t.failure_count, 0) as remaining
    from task t join kind k on k.id = t.kind_id where (t.state + 0) in (2, 3, 4) or (t.state = 5 and t.paused_from > 1)`,
};

const LEFTOVERS: Statement = {
  name: 'audit.leftovers',
  text: `select 'slots in use' as what, (select count(*) from slot where used <> 0) as n
    union all select 'leases', (select count(*) from lease)
    union all select 'ready rows', (select count(*) from ready)
    union all select 'blocked rows', (select count(*) from blocked)
    union all select 'delayed rows', (select count(*) from delayed)
    union all select 'relays', (select count(*) from relay)
    union all select 'open workflows', (select count(*) from workflow where remaining <> 0)
    -- What was skipped never had its turn.
    union all select 'open gates', (select count(*) from task where open_gates <> 0 and state <> 15)
    union all select 'tasks with slots', (select count(*) from task where slots is not null)
    union all select 'undelivered webhooks', (
      -- A start may be abandoned when its attempt has ended: its target reported before it answered.
      select count(*) from delivery where state in ('held', 'due') or (state = 'dead' and trigger <> 'start'))
    union all select 'wrong remaining', (select count(*) from workflow w where w.remaining <> (
      select count(*) from task t where t.workflow_id = w.id and t.state < 10))`,
};

const TASKS: Statement = {
  name: 'audit.tasks',
  text: `select t.id, t.workflow_id, t.local_id, k.name as kind, t.metadata ->> 'tenant' as tenant, t.state, t.attempt,
      t.success_count, t.started_at, t.ended_at
    from task t join kind k on k.id = t.kind_id order by t.id`,
};

export interface AuditedTask {
  id: string;
  workflow_id: string;
  local_id: string | null;
  kind: string;
  tenant: string | null;
  state: TaskState;
  attempt: number;
  success_count: number;
  started_at: number | null;
  ended_at: number | null;
}

export interface OpenAttempt {
  kind: string;
  tenant: string | null;
  remaining: number;
}

/** Everything that must be nothing when all tasks have ended and all webhooks were taken. */
export async function leftovers(database: Database): Promise<string[]> {
  const rows = await database.query<{ what: string; n: number }>(LEFTOVERS);
  return rows.filter(({ n }) => n > 0).map(({ what, n }) => `${what}: ${n}`);
}

export async function auditedTasks(database: Database): Promise<AuditedTask[]> {
  const rows = await database.query<Omit<AuditedTask, 'state'> & { state: number }>(TASKS);
  return rows.map((row) => ({ ...row, state: taskStateOf(row.state) }));
}

export async function assertSlotsAddUp(database: Database): Promise<void> {
  assert.deepEqual(await database.query(WRONG_SLOTS), []);
}

/** Looks at the database over and over while others work; each look is one statement, so one moment. */
export class Sampler {
  readonly #database: Database;
  readonly #check: (open: OpenAttempt[]) => void;
  readonly #ended: Promise<void>;
  #stopping = false;
  #failure: Error | undefined;
  samples = 0;
  /** Most attempts that were seen open at one moment. */
  openMax = 0;

  constructor(database: Database, check: (open: OpenAttempt[]) => void) {
    this.#database = database;
    this.#check = check;
    this.#ended = this.#run();
  }

  /** Throws what was found wrong so far. */
  rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#ended;
    this.rethrow();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopping) {
        await assertSlotsAddUp(this.#database);
        const open = await this.#database.query<OpenAttempt>(OPEN_ATTEMPTS);
        this.#check(open);
        this.samples += 1;
        this.openMax = Math.max(this.openMax, open.length);
        await sleep(50);
      }
    } catch (error) {
      this.#failure = error as Error;
    }
  }
}
