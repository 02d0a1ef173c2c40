import type { JsonObject } from '../../domain/json.ts';
import { NOTIFICATION_KINDS } from '../../domain/notification/kinds.ts';
import { isObject } from '../../domain/parse/faults.ts';
import type { Task } from '../../domain/task.ts';
import { redactFields } from '../../runtime/redact.ts';
import { withoutPath } from './notification.ts';

/** The input of a task as readers see it: where a notification goes is shown without what opens that door. */
export function shownInput({ kind, metadata }: Pick<Task, 'kind' | 'metadata'>): JsonObject {
  const to = metadata['to'];
  if (!NOTIFICATION_KINDS.has(kind) || !isObject(to)) return metadata;
  const { webhook, slack } = to;
  const shown: JsonObject = { ...to };
  if (isObject(webhook) && isObject(webhook['headers'])) {
    shown['webhook'] = { ...webhook, headers: redactFields(webhook['headers']) as JsonObject };
  }
  if (isObject(slack) && typeof slack['url'] === 'string') {
    shown['slack'] = { ...slack, url: withoutPath(slack['url']) };
  }
  return { ...metadata, to: shown };
}
