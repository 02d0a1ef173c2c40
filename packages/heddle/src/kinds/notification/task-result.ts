import type { JsonObject, JsonValue } from '@heddle/base/json';
import { NOTIFICATION_KINDS, RESULT_KIND } from '@heddle/core/domain/notification/kinds';
import { cutText } from '@heddle/core/domain/notification/one-line';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import { WORKFLOW_WIRE_STATE } from '@heddle/base/vocabulary/workflow';
import { defineKind, type EarlierResult, type KindContext } from '@heddle/kit';
import { ResultWithNotification } from '../definition/result-with-notification.ts';
import { requireAllowedChannel, type NotificationOptions } from './channel.ts';
import { resultNotificationSchema } from './input.ts';

/** Maximum JSON characters of one result in a notification, and of all together. */
const RESULT_CHARACTERS = 4_000;
const RESULTS_CHARACTERS = 64_000;
const LINE_CHARACTERS = 300;

/** Results for a message: whole if they are small, else the beginning of their JSON. */
interface Excerpt {
  results: JsonObject[];
  lines: string[];
  /** Whether there are more than are included. */
  more: boolean;
}

/** `TaskResultNotification`: sends the results before it in its sequence, as far as they fit, and counts. */
export function taskResultNotification({ notices, ssrf }: NotificationOptions) {
  return defineKind({
    name: RESULT_KIND,
    input: resultNotificationSchema,
    timeout_secs: 300,
    run: async ({ notification, limit }, context) => {
      const { task } = context;
      requireAllowedChannel(notification, ssrf);
      const counts = await notices.countBefore(task.id);
      const excerpt = await excerptOf(context, limit);
      const actions = await notices.compose({
        task,
        notification,
        type: 'task.results',
        facts: { results: excerpt.results, counts: { ...counts }, more_results: excerpt.more },
        words: (workflow) => ({ title: `Results of workflow ${workflow}`, text: textOf(counts, excerpt) }),
        plain_if_template_fails: false,
      });
      const results = excerpt.results.length;
      return new ResultWithNotification(
        { sent: true, results, more_results: excerpt.more, deliveries: actions.length },
        actions,
      );
    },
  });
}

async function excerptOf(context: KindContext, limit: number): Promise<Excerpt> {
  const excerpt: Excerpt = { results: [], lines: [], more: false };
  let characters = 0;
  for await (const result of context.results()) {
    // Earlier notifications are no results.
    if (NOTIFICATION_KINDS.has(result.kind)) continue;
    const text = JSON.stringify(result.data);
    characters += Math.min(text.length, RESULT_CHARACTERS);
    if (excerpt.results.length >= limit || characters > RESULTS_CHARACTERS) {
      excerpt.more = true;
      break;
    }
    excerpt.results.push(shown(result, text));
    excerpt.lines.push(`${nameOf(result)} ${result.state.replaceAll('_', ' ')}: ${cutText(text, LINE_CHARACTERS)}`);
  }
  return excerpt;
}

function shown({ task_id, local_id, kind, state, data }: EarlierResult, text: string): JsonObject {
  const whole = text.length <= RESULT_CHARACTERS;
  const kept: Record<string, JsonValue> = whole ? { data } : { excerpt: cutText(text, RESULT_CHARACTERS) };
  return { task_id, local_id, kind, state: WORKFLOW_WIRE_STATE[state], ...kept };
}

function nameOf({ local_id, kind, task_id }: EarlierResult): string {
  return local_id ?? `${kind} ${task_id}`;
}

function textOf(counts: Partial<Record<TaskState, number>>, { lines, more }: Excerpt): string {
  const ended = Object.entries(counts).map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`);
  const tasks = ended.length === 0 ? 'No tasks precede this one.' : `Tasks: ${ended.join(', ')}.`;
  return [tasks, ...lines, ...(more ? ['… and more results'] : [])].join('\n');
}
