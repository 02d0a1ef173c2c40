import type { JsonValue } from '../json.ts';
import type { WebhookParams } from '../task.ts';
import type { WorkflowWireState } from '../workflow.ts';

/** Where a notification goes. Addresses stand as they are; only texts are templates. */
export type Channel =
  | { type: 'webhook'; url: string; verb: 'Post' | 'Put' | 'Patch'; headers: Record<string, string> | null }
  | { type: 'slack'; url: string }
  | { type: 'email'; to: readonly string[]; subject: string | null };

/** What is to be told, as its submitter wrote it. */
export interface Notification {
  channel: Channel;
  /** Templates with `{{ CEL }}`; null: Heddle's own words. */
  title: string | null;
  text: string | null;
  /** The whole body of a webhook or of a Slack message; an e-mail carries it below its text. Its texts are templates. */
  payload: JsonValue | undefined;
}

/** The ends of a workflow that can be told of, as the wire names them. */
export const NOTIFY_STATES = [
  'Succeeded',
  'PartiallyFailed',
  'Failed',
  'Timeout',
  'Disabled',
] as const satisfies readonly WorkflowWireState[];

export type NotifyState = (typeof NOTIFY_STATES)[number];

/** Where a workflow does not say: whenever it ends badly. */
export const NOTIFY_STATES_DEFAULT = ['PartiallyFailed', 'Failed', 'Timeout'] as const satisfies readonly NotifyState[];

/** An entry of a workflow's `notify`. */
export interface WorkflowNotification extends Notification {
  on: readonly NotifyState[];
}

/** The texts of a notification with their expressions worked out. */
export interface RenderedNotification {
  title: string;
  text: string;
  /** Of an e-mail. */
  subject: string;
  payload: JsonValue | undefined;
}

/** One e-mail to one recipient. */
export interface MailMessage {
  recipient: string;
  /** Everybody who gets it, as its header says. */
  to: readonly string[];
  subject: string;
  text: string;
}

/** What is stored in the outbox for a notification, as an action is for a task's end. */
export type NoticeAction = {
  trigger: 'notify';
  /** As those of an action; never set so far, so that the server's hold. */
  max_tries?: number;
  give_up_secs?: number;
} & ({ channel: 'webhook' | 'slack'; params: WebhookParams } | { channel: 'email'; mail: MailMessage });

/** The one origin of all mail: the operator's server, which no row needs to name. */
export const MAIL_ORIGIN = 'smtp:';

/** Whether a delivery tells of a workflow as a whole, rather than of one of its tasks: it then has the workflow's id twice. */
export function tellsOfWorkflow({ task_id, workflow_id }: { task_id: string; workflow_id: string }): boolean {
  return task_id === workflow_id;
}
