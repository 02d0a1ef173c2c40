export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A task in lists, graphs and events. Times are ISO 8601 strings. */
export interface BasicTask {
  id: string;
  name: string;
  kind: string;
  status: string;
  timeout: number;
  timeout_basis: 'start' | 'activity';
  metadata?: Json;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  last_updated: string;
  success: number;
  failures: number;
  expected_count?: number | null;
  failure_reason?: string | null;
  batch_id: string;
}

export interface Action {
  kind: string;
  trigger: string;
  params: { url?: string; verb?: string; body?: Json; headers?: Record<string, string> };
}

/** A task as returned by `GET /task/{id}`; unknown fields are shown unchanged. */
export interface TaskDetail extends BasicTask {
  rules?: Json;
  actions?: Action[];
}

export interface Link {
  parent_id: string;
  child_id: string;
  requires_success: boolean;
}

export interface Dag {
  batch?: Batch;
  tasks: BasicTask[];
  links: Link[];
}

export interface Batch {
  id: string;
  name: string | null;
  task_count: number;
  remaining: number;
  created_at: string;
  ended_at: string | null;
  archived: boolean;
}

export interface Explanation {
  summary: string;
  obstacles: Record<string, Json>[];
}

export interface ChangeEvent {
  tasks: BasicTask[];
  batch?: Batch | null;
}
