import type { JsonValue } from '@heddle/base/json';
import type { WebhookHeaders, WebhookParams } from '@heddle/base/vocabulary/task';
import type { WorkflowWireState } from '@heddle/base/vocabulary/workflow';

/** Destination of a notification. Addresses are literal; only strings of the content are templates. */
export type Channel =
  | {
      type: 'webhook';
      url: string;
      verb: 'Post' | 'Put' | 'Patch';
      headers: WebhookHeaders | null;
    }
  | { type: 'slack'; url: string }
  | { type: 'email'; to: readonly string[]; subject: string | null };

/** Notification as its submitter wrote it. */
export interface Notification {
  channel: Channel;
  /** Template with `{{ CEL }}`; null: the default message. */
  title: string | null;
  text: string | null;
  /** Whole body of a webhook or Slack message; an e-mail has it below its text. Its strings are templates. */
  payload: JsonValue | undefined;
}

/** Ends of a workflow that can be notified, by wire name. */
export const NOTIFY_STATES = [
  'Succeeded',
  'PartiallyFailed',
  'Failed',
  'Timeout',
  'Disabled',
] as const satisfies readonly WorkflowWireState[];

export type NotifyState = (typeof NOTIFY_STATES)[number];

/** Default of a workflow: every end that is not a success. */
export const NOTIFY_STATES_DEFAULT = ['PartiallyFailed', 'Failed', 'Timeout'] as const satisfies readonly NotifyState[];

/** Entry of a workflow's `notify`. */
export interface WorkflowNotification extends Notification {
  on: readonly NotifyState[];
}

/** Strings of a notification with their expressions evaluated. */
export interface RenderedNotification {
  title: string;
  text: string;
  /** Only for e-mail. */
  subject: string;
  payload: JsonValue | undefined;
}

/** E-mail to one recipient. */
export interface MailMessage {
  recipient: string;
  /** All recipients, for its header. */
  to: readonly string[];
  subject: string;
  text: string;
}

/** Stored form of a notification in the outbox, like an action of a task's end. */
export type NoticeAction = {
  trigger: 'notify';
  /** Like those of an action; never set so far, so the server's defaults apply. */
  max_tries?: number;
  abandon_after_secs?: number;
} & ({ channel: 'webhook' | 'slack'; params: WebhookParams } | { channel: 'email'; mail: MailMessage });

/** Origin of all mail: the operator's server, which no row needs to name. */
export const MAIL_ORIGIN = 'smtp:';

/** Returns whether a delivery is about a whole workflow rather than a task: it then has the workflow's id twice. */
export function tellsOfWorkflow({ task_id, workflow_id }: { task_id: string; workflow_id: string }): boolean {
  return task_id === workflow_id;
}
