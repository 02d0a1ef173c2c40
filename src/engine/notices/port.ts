import type { TaskId, WorkflowId } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { NoticeAction, Notification } from '../../domain/notification/notification.ts';
import type { TaskState } from '../../domain/task-state.ts';

/** The task that tells something. */
export interface TellingTask {
  id: TaskId;
  workflow_id: WorkflowId;
  name: string;
  kind: string;
  local_id: string | null;
  attempt: number;
}

export interface Telling {
  task: TellingTask;
  notification: Notification;
  /** `task.notification`, `task.results`, `workflow.error`. */
  type: string;
  /** Variables beside those of every template, and members of a webhook's `data`. */
  facts: JsonObject;
  /** Where the notification has none. Told the workflow's name. */
  words: (workflow: string) => { title: string; text: string };
  /** A template that fails is told of in plain words; otherwise the telling fails. */
  plain_if_template_fails: boolean;
}

/** What ended badly, in the words of its failure. */
export interface BadEnd {
  id: TaskId;
  name: string;
  local_id: string | null;
  state: TaskState;
  reason: string | null;
}

/** What tasks need that tell something. Nothing of it changes anything. */
export interface Notices {
  /**
   * Works out the templates and says what is to be sent.
   *
   * @throws Error that names the member whose template does not compile or failed
   */
  compose(telling: Telling): Promise<NoticeAction[]>;
  /** What stands before a task in its container, and below it, that ended badly: how many, and the first `limit`. */
  badEndsBefore(id: TaskId, limit: number): Promise<{ total: number; first: BadEnd[] }>;
  /** The same tasks, however they ended, by state. */
  countBefore(id: TaskId): Promise<Partial<Record<TaskState, number>>>;
}

/** Notices that a task's success sends off. */
export interface TaskNotices {
  actions: readonly NoticeAction[];
  /**
   * Only the first such task of a workflow sends its own, once again after each retry of the workflow; the member `sent`
   * of the result of any other becomes false.
   */
  once_per_workflow: boolean;
}
