import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { JsonObject } from '@heddle/base/json';
import type { NoticeAction, Notification } from '../../domain/notification/notification.ts';
import type { TaskState } from '@heddle/base/vocabulary/task-state';

/** Task that sends a notification. */
export interface NotifyingTask {
  id: TaskId;
  workflow_id: WorkflowId;
  name: string;
  kind: string;
  local_id: string | null;
  attempt: number;
}

export interface NoticeRequest {
  task: NotifyingTask;
  notification: Notification;
  /** `task.notification`, `task.results`, `workflow.error`. */
  type: string;
  /** Variables beyond those of every template, and members of a webhook's `data`. */
  facts: JsonObject;
  /** Default message; receives the workflow's name. */
  words: (workflow: string) => { title: string; text: string };
  /** Whether a failing template is replaced by the default message; otherwise rendering fails. */
  plain_if_template_fails: boolean;
}

/** Task that failed, with its reason. */
export interface BadEnd {
  id: TaskId;
  name: string;
  local_id: string | null;
  state: TaskState;
  reason: string | null;
}

/** Read-only operations of notification tasks. */
export interface Notices {
  /**
   * Renders the templates and returns what to send.
   *
   * @throws Error naming the member whose template does not compile or failed
   */
  compose(request: NoticeRequest): Promise<NoticeAction[]>;
  /** Returns the number of failed tasks that precede a task in its container, and the first `limit` of them. */
  badEndsBefore(id: TaskId, limit: number): Promise<{ total: number; first: BadEnd[] }>;
  /** Counts the same tasks by state, whatever it is. */
  countBefore(id: TaskId): Promise<Partial<Record<TaskState, number>>>;
}

/** Notices sent by a task's success. */
export interface TaskNotices {
  actions: readonly NoticeAction[];
  /**
   * Only the first such task of a workflow sends its own, and again after each retry of the workflow; for any other,
   * the member `sent` of the result becomes false.
   */
  once_per_workflow: boolean;
}
