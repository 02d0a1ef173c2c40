import type { Queryable, Statement } from './database.ts';
import { uuidArray } from './transitions.ts';

const FIND_ATTEMPTS: Statement = {
  name: 'traces.find_attempts',
  text: `select id, workflow_id, kind, name, attempt, traceparent, generator_id, generator_attempt, ready_ms, started_ms, now_ms
    from traced_attempts($1::uuid[], $2)`,
};

const FIND_WORKFLOWS: Statement = {
  name: 'traces.find_workflows',
  text: `select w.id, w.name, w.traceparent, w.is_tree, w.task_count, w.created_at, w.ended_at, c.state as root_state
    from unnest($1::uuid[]) u(id) join workflow w on w.id = u.id left join container c on c.id = w.id
    where w.ended_at is not null and w.traceparent is not null`,
};

/** Open attempt of a task whose workflow has a trace. */
export interface TracedAttempt {
  id: string;
  workflow_id: string;
  kind: string;
  name: string;
  attempt: number;
  /** W3C trace context that its workflow was submitted with. */
  traceparent: string;
  /** Generator that created it, and its attempt; null for any other task. */
  generator_id: string | null;
  generator_attempt: number | null;
  /** Milliseconds since the epoch: when it became ready, when it started (null: not yet), and now. */
  ready_ms: number;
  started_ms: number | null;
  now_ms: number;
  /** For an ended attempt: whether its task is retried. */
  retrying?: boolean;
}

/** Ended workflow with a trace. */
export interface TracedWorkflow {
  id: string;
  name: string | null;
  traceparent: string;
  is_tree: boolean;
  task_count: number;
  created_at: number;
  ended_at: number;
  /** Null for a batch. */
  root_state: number | null;
}

export function findTracedAttempts(
  queryable: Queryable,
  ids: readonly string[],
  now: string | null,
): Promise<TracedAttempt[]> {
  return queryable.query(FIND_ATTEMPTS, [uuidArray(ids), now]);
}

export function findTracedWorkflows(queryable: Queryable, ids: readonly string[]): Promise<TracedWorkflow[]> {
  return queryable.query(FIND_WORKFLOWS, [uuidArray(ids)]);
}
