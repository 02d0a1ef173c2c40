import type { JsonObject } from '@heddle/base/json';
import { NOTIFICATION_KINDS } from '@heddle/core/domain/notification/kinds';
import { isObject } from '@heddle/base/parse/faults';
import type { Task } from '@heddle/base/vocabulary/task';
import { redactRequests } from '@heddle/base/redact';

/** Returns a task's input for readers: notification addresses are shown without their secrets. */
export function shownInput({ kind, metadata }: Pick<Task, 'kind' | 'metadata'>): JsonObject {
  const { to } = metadata;
  if (!NOTIFICATION_KINDS.has(kind) || !isObject(to)) return metadata;
  return { ...metadata, to: redactRequests(to) as JsonObject };
}
