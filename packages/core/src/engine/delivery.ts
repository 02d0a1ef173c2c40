import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { NoticeAction } from '../domain/notification/notification.ts';
import type { Action } from '@heddle/base/vocabulary/task';

/** Cause of a delivery: a trigger of a task's actions, or a notification. */
export type DeliveryTrigger = Action['trigger'] | NoticeAction['trigger'];

/** One delivery, by webhook or by mail: a row of the outbox. */
export interface Delivery {
  id: string;
  /** Id of the workflow, for deliveries about a workflow. */
  task_id: TaskId;
  workflow_id: WorkflowId;
  attempt: number;
  trigger: DeliveryTrigger;
  /** Index among the actions of its trigger, or among the recipients of a notification. */
  ordinal: number;
  /** Scheme, host and port of the target, the unit of fairness. */
  origin: string;
  action: Action | NoticeAction;
  tries: number;
  first_try_at: number | null;
  traceparent: string | null;
  idempotency_key: string;
}

export type DeliveryState = 'held' | 'due' | 'delivered' | 'dead';

export interface DeliveryRecord extends Delivery {
  state: DeliveryState;
  next_try_at: number | null;
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  delivered_at: number | null;
  /** Null for a delivery about a workflow. */
  task_name: string | null;
  task_kind: string | null;
}

export interface DeliveryClaimRequest {
  holder: string;
  limit: number;
  /** Maximum per origin. */
  limit_per_origin: number;
  /** Origins without a free permit. */
  saturated_origins: readonly string[];
  lease_ms: number;
}

/** Result of one try of a delivery. */
export type DeliveryResult =
  | { id: string; tries: number; outcome: 'delivered'; status: number; cancel_action?: Action }
  | { id: string; tries: number; outcome: 'retry'; status: number | null; error: string; delay_ms: number }
  | { id: string; tries: number; outcome: 'dead'; status: number | null; error: string };

export interface DeliveryFilter {
  state?: DeliveryState;
  task_id?: TaskId;
  /** Scheme, host and port of the target. */
  origin?: string;
  /** Deliveries older than this one. */
  after?: string;
  offset: number;
  limit: number;
}
