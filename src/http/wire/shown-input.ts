import type { JsonObject } from '../../domain/json.ts';
import { NOTIFICATION_KINDS } from '../../domain/notification/kinds.ts';
import { isObject } from '../../domain/parse/faults.ts';
import type { Task } from '../../domain/task.ts';
import { redactRequests } from '../../runtime/redact.ts';

/** Returns a task's input for readers: notification addresses are shown without their secrets. */
export function shownInput({ kind, metadata }: Pick<Task, 'kind' | 'metadata'>): JsonObject {
  const { to } = metadata;
  if (!NOTIFICATION_KINDS.has(kind) || !isObject(to)) return metadata;
  return { ...metadata, to: redactRequests(to) as JsonObject };
}
