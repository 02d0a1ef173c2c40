import type { JsonObject } from '@heddle/base/json';
import { ERROR_KIND } from '@heddle/core/domain/notification/kinds';
import { cutText } from '@heddle/core/domain/notification/one-line';
import { WORKFLOW_WIRE_STATE } from '@heddle/base/vocabulary/workflow';
import type { BadEnd } from '@heddle/core/engine/port';
import { defineKind } from '@heddle/kit';
import { ResultWithNotification } from '../definition/result-with-notification.ts';
import { requireAllowedChannel, type NotificationOptions } from './channel.ts';
import { notificationSchema } from './input.ts';

/** Failures that are listed individually. */
const ERRORS_MAX = 20;
const REASON_CHARACTERS = 300;

/**
 * `ErrorNotification`: reports the failures before it in its sequence, once per run of a workflow, whichever of
 * several such tasks comes first; succeeds without a message if there were none.
 */
export function errorNotification({ notices, ssrf }: NotificationOptions) {
  return defineKind({
    name: ERROR_KIND,
    input: notificationSchema,
    timeout_secs: 300,
    run: async (notification, { task }) => {
      requireAllowedChannel(notification, ssrf);
      const { total, first } = await notices.badEndsBefore(task.id, ERRORS_MAX);
      if (total === 0) return { sent: false, errors: 0 };
      const actions = await notices.compose({
        task,
        notification,
        type: 'workflow.error',
        facts: { errors: first.map(shown), error_count: total },
        words: (workflow) => ({ title: titleOf(workflow, total), text: listOf(first, total) }),
        plain_if_template_fails: true,
      });
      return new ResultWithNotification({ sent: true, errors: total, deliveries: actions.length }, actions, {
        oncePerWorkflow: true,
      });
    },
  });
}

function shown({ id, name, local_id, state, reason }: BadEnd): JsonObject {
  const cut = reason === null ? null : cutText(reason, REASON_CHARACTERS);
  return { id, name, local_id, state: WORKFLOW_WIRE_STATE[state], reason: cut };
}

function titleOf(workflow: string, total: number): string {
  return `Workflow ${workflow}: ${total} ${total === 1 ? 'task' : 'tasks'} ended badly`;
}

function listOf(first: readonly BadEnd[], total: number): string {
  const lines = first.map(({ name, state, reason }) => {
    const why = reason === null ? '' : `: ${cutText(reason, REASON_CHARACTERS)}`;
    return `${name} ${state.replaceAll('_', ' ')}${why}`;
  });
  return total > first.length ? [...lines, `and ${total - first.length} more`].join('\n') : lines.join('\n');
}
