import type { JsonObject } from '@heddle/base/json';
import { composeNotices } from '../../domain/notification/compose.ts';
import type { RenderedNotification } from '../../domain/notification/notification.ts';
import type { Variables } from '../../expression/compile.ts';
import { SLICE_STEPS } from '../../expression/meter.ts';
import type { Logger } from '@heddle/base/log';
import { SlicedWork } from '@heddle/base/sliced-work';
import type { Database } from '../../store/database.ts';
import { findBadEnds, findWorkflowName } from '../../store/notices.ts';
import { countTasksBefore } from '../../store/tasks-before.ts';
import type { Notices, NoticeRequest } from './port.ts';
import { NOTIFICATION_STEPS_MAX, requireNotification, TASK_VARIABLES, type DefaultWords } from './render.ts';
import { readVariables } from './variables.ts';

export interface NoticesOptions {
  database: Database;
  log: Logger;
  /** Time that statements use; null: the database's clock. */
  readonly now?: () => string | null;
}

/** Reads what notification tasks need from one database. */
export function createNotices(options: NoticesOptions): Notices {
  const { database } = options;
  return {
    compose: (request) => compose(options, request),
    badEndsBefore: (id, limit) => findBadEnds(database, id, limit),
    countBefore: (id) => countTasksBefore(database, id, null),
  };
}

async function compose(options: NoticesOptions, request: NoticeRequest) {
  const { database, now } = options;
  const { task, notification, type, facts } = request;
  const { workflow_id } = task;
  const found = await findWorkflowName(database, workflow_id, now?.() ?? null);
  const at = found?.now ?? 0;
  const workflow = { id: workflow_id, name: found?.name ?? null };
  const shownTask = { id: task.id, name: task.name, kind: task.kind, local_id: task.local_id, attempt: task.attempt };
  const label = workflow.name ?? workflow_id;
  const words = request.words(label);
  const rendered = await render(options, request, { ...facts, workflow, task: shownTask, now: new Date(at) }, words);
  return composeNotices(notification.channel, rendered, {
    type,
    at,
    facts: { workflow, task: shownTask, ...facts } satisfies JsonObject,
    origin: `Heddle: task ${task.name} (${task.id}) of workflow ${label} (${workflow_id})`,
  });
}

async function render(
  { database, log }: NoticesOptions,
  { task, notification, facts, plain_if_template_fails: plainly }: NoticeRequest,
  variables: Variables,
  words: DefaultWords,
): Promise<RenderedNotification> {
  try {
    const compiled = requireNotification(notification, [...TASK_VARIABLES, ...Object.keys(facts)]);
    const read = await readVariables(database, task.workflow_id, compiled.expressions);
    const work = new SlicedWork({ steps_max: NOTIFICATION_STEPS_MAX, slice_steps: SLICE_STEPS });
    await work.nextSlice();
    return await compiled.render({ ...variables, ...read }, words, work);
  } catch (error) {
    // An error of the database is not the template's fault.
    if (!plainly || !(error instanceof Error) || 'code' in error) throw error;
    log.warn({ err: error, task_id: task.id }, 'notification template failed; sending the default message');
    return plainWords(words, error);
  }
}

/** Builds the default message that replaces a failed template, with the error. */
export function plainWords({ title, text }: DefaultWords, error: Error): RenderedNotification {
  const why = `The template of this notification failed: ${error.message}`;
  return { title, text: text === '' ? why : `${text}\n\n${why}`, subject: title, payload: undefined };
}
