import { hashOfText, hashToText } from '../../domain/stored-hash.ts';
import type { Queryable } from '../../store/database.ts';
import { COUNT_CAP } from '../../store/overview/counts.ts';
import { findFailing, findFailures, type FailingRow } from '../../store/overview/failures.ts';
import { HeddleError } from '@heddle/base/errors';
import type { FailedTasks, FailingGroup } from './port.ts';

const NO_REASON = 'it failed without a reason';

/** Groups the latest 10,000 failures of a day; `total` is one more if there are more. */
export async function failingGroups(
  database: Queryable,
  now: number,
): Promise<{ groups: FailingGroup[]; total: number }> {
  const rows = await findFailing(database, now);
  return { groups: rows.map(groupOf), total: rows[0]?.examined ?? 0 };
}

function groupOf(row: FailingRow): FailingGroup {
  return {
    fingerprint: hashToText(row.fingerprint),
    kind: row.kind,
    reason: row.reason ?? NO_REASON,
    pattern: row.pattern ?? NO_REASON,
    tasks: row.tasks,
    tasks_capped: row.examined > COUNT_CAP,
    runs: row.runs,
    first_at: row.first_at,
    last_at: row.last_at,
    sample: {
      task_id: row.task_id,
      name: row.name ?? row.kind,
      run_id: row.workflow_id ?? row.task_id,
      run_name: row.workflow_name,
    },
  };
}

/** Lists the failed tasks of a group. */
export async function listFailures(
  database: Queryable,
  fingerprint: string,
  after: string | null,
  limit: number,
): Promise<FailedTasks> {
  const before = after === null ? null : positionOf(after);
  const rows = await findFailures(database, hashOfText(fingerprint), before, limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    tasks: page.map((row) => ({
      task_id: row.task_id,
      name: row.name ?? row.kind,
      kind: row.kind,
      reason: row.reason ?? NO_REASON,
      run_id: row.workflow_id,
      run_name: row.workflow_name,
      ended_at: row.ended_at,
    })),
    next: rows.length > limit && last !== undefined ? `${last.cursor_at}_${last.task_id}` : null,
  };
}

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

function positionOf(cursor: string): { at: string; id: string } {
  const [, at, id] = CURSOR.exec(cursor) ?? [];
  if (at !== undefined && id !== undefined && Number.isFinite(Date.parse(at))) return { at, id };
  throw new HeddleError('INVALID_QUERY', undefined, { details: ['after: must be `next` of an earlier answer'] });
}
