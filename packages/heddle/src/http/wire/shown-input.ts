import { isDeepStrictEqual } from 'node:util';

import type { JsonObject } from '@heddle/base/json';
import { NOTIFICATION_KINDS } from '@heddle/core/domain/notification/kinds';
import { isObject } from '@heddle/base/parse/faults';
import type { Task } from '@heddle/base/vocabulary/task';
import { redactRequests, REDACTED } from '@heddle/base/redact';

/** Returns a task's input for readers: notification addresses are shown without their secrets. */
export function shownInput({ kind, metadata }: Pick<Task, 'kind' | 'metadata'>): JsonObject {
  const { to } = metadata;
  if (!NOTIFICATION_KINDS.has(kind) || !isObject(to)) return metadata;
  return { ...metadata, to: redactRequests(to) as JsonObject };
}

/**
 * Returns an input in which a caller left `to` as it was shown, with the stored secrets; the given input in any other
 * case. A fault names an address with a secret that the caller cannot know.
 */
export function restoredInput(
  task: Pick<Task, 'kind' | 'metadata'>,
  given: JsonObject,
): { input: JsonObject } | { fault: string } {
  const { to } = shownInput(task);
  if (!NOTIFICATION_KINDS.has(task.kind) || !JSON.stringify(given['to'] ?? null).includes(REDACTED))
    return { input: given };
  if (isDeepStrictEqual(given['to'], to)) return { input: { ...given, to: task.metadata['to']! } };
  return { fault: `to: holds ${REDACTED}; leave \`to\` as it was shown, or give it with its secrets` };
}
