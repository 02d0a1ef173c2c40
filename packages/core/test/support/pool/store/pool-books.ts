import assert from 'node:assert/strict';

import type { Database, Statement } from '../../../../src/store/database.ts';

/** Rows that contradict each other, as descriptions. */
const CONTRADICTIONS: Statement = {
  name: 'test.contradictions',
  text: `
    select 'request ' || q.id || ' in state ' || q.state || ' asks for ' || q.count || ' and has ' || h.n as what
    from runner_request q
    cross join lateral (select count(*) as n from runner r where r.request_id = q.id and r.state in (2, 3)) h
    where h.n <> case when q.state = 1 then q.count else q.kept end
    union all
    select 'runner ' || r.id || ' in state ' || r.state || ' has request ' || coalesce(r.request_id::text, 'none')
    from runner r left join runner_request q on q.id = r.request_id
    where r.state in (2, 3) and (q.state = 1 or q.state = 0 and q.kept > 0) is not true or r.state not in (2, 3) and r.request_id is not null
    union all
    select 'runner ' || r.id || ' drains and is idle' from runner r where r.state = 1 and r.draining`,
};

const EMPTY: Statement = {
  name: 'test.empty_pool',
  text: `truncate runner, runner_batch, runner_budget, runner_request, runner_heartbeat, runner_tenant, runner_sample,
    runner_orphan`,
};

/** Asserts that requests and runners agree about grants. */
export async function assertSound(database: Database): Promise<void> {
  const rows = await database.query<{ what: string }>(CONTRADICTIONS);
  assert.deepEqual(
    rows.map(({ what }) => what),
    [],
  );
}

export async function emptyPool(database: Database): Promise<void> {
  await database.query(EMPTY);
}
