import type { JsonObject } from '@heddle/base/json';
import { composeNotices, type NoticeSubject } from '../../domain/notification/compose.ts';
import type {
  NoticeAction,
  RenderedNotification,
  WorkflowNotification,
} from '../../domain/notification/notification.ts';
import { TERMINAL_STATES } from '@heddle/base/vocabulary/task-state';
import { WORKFLOW_WIRE_STATE } from '@heddle/base/vocabulary/workflow';
import { SLICE_STEPS, type SlicedAllowance } from '../../expression/meter.ts';
import { SlicedWork } from '@heddle/base/sliced-work';
import { takeEnds, writeNotices, type AnnouncedEnd, type NoticeRow } from '../../store/notices.ts';
import { readForTemplates, type TemplateReads, type Upstream } from '../../store/upstream.ts';
import type { EngineContext } from '../context.ts';
import { storedAction } from '../outbox.ts';
import { plainWords } from './notices.ts';
import {
  NOTIFICATION_STEPS_MAX,
  requireNotification,
  WORKFLOW_VARIABLES,
  type CompiledNotification,
  type DefaultWords,
} from './render.ts';
import { readsOf, variablesOf } from './variables.ts';

const WORDS_OF_STATE = {
  succeeded: 'succeeded',
  failed: 'failed',
  timed_out: 'timed out',
  partially_failed: 'partially failed',
  disabled: 'was disabled',
} as const satisfies Record<AnnouncedEnd['state'], string>;

/** Deliveries per statement; a payload may have 256 KiB. */
const ROWS_AT_ONCE = 200;

/** Recipient of a workflow-end notification. */
interface DueEntry {
  end: AnnouncedEnd;
  entry: WorkflowNotification;
  /** Its templates, or their faults if they do not compile. */
  notification: CompiledNotification | Error;
  reads: TemplateReads | null;
}

/**
 * Writes the notifications about the ends of these workflows, once per run of a workflow, however often and in however
 * many processes it is called. Runs in the transaction that recorded the ends. Returns the number of deliveries.
 */
export async function announceEnds(context: EngineContext, ids: readonly string[]): Promise<number> {
  const { database } = context;
  if (ids.length === 0) return 0;
  const due = (await takeEnds(database, ids)).flatMap(dueEntries);
  const reads = readForTemplates(
    database,
    due.flatMap((each) => each.reads ?? []),
  );
  let written = 0;
  let rows: NoticeRow[] = [];
  let of: AnnouncedEnd | undefined;
  let ordinal = 0;
  const work = new SlicedWork({ slice_steps: SLICE_STEPS });
  for (const each of due) {
    if (each.end !== of) ordinal = 0;
    of = each.end;
    const upstream = each.reads === null ? null : await reads.next();
    if (work.isSliceOver) await work.nextSlice();
    for (const action of await noticesOf(context, each, upstream, work.part(NOTIFICATION_STEPS_MAX))) {
      rows.push(rowOf(each.end, action, ordinal));
      ordinal += 1;
    }
    if (rows.length >= ROWS_AT_ONCE) {
      written += await writeNotices(database, rows, context.now());
      rows = [];
    }
  }
  written += await writeNotices(database, rows, context.now());
  if (written > 0) context.signals.emit({ deliveries: true });
  return written;
}

function dueEntries(end: AnnouncedEnd): DueEntry[] {
  const due = end.entries.filter(({ on }) => on.some((state) => state === WORKFLOW_WIRE_STATE[end.state]));
  return due.map((entry) => {
    const notification = compiledOf(entry);
    const reads = notification instanceof Error ? null : readsOf(end.workflow_id, notification.expressions);
    return { end, entry, notification, reads };
  });
}

function compiledOf(entry: WorkflowNotification): CompiledNotification | Error {
  try {
    return requireNotification(entry, WORKFLOW_VARIABLES);
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

function rowOf({ workflow_id, run }: AnnouncedEnd, action: NoticeAction, ordinal: number): NoticeRow {
  const idempotency_key = `${workflow_id}:end${ordinal > 0 ? `:${ordinal + 1}` : ''}${run > 0 ? `:run-${run + 1}` : ''}`;
  const content = storedAction(action);
  return { task_id: workflow_id, workflow_id, attempt: run + 1, ordinal, content, idempotency_key };
}

async function noticesOf(
  context: EngineContext,
  due: DueEntry,
  upstream: Upstream | null,
  allowance: SlicedAllowance,
): Promise<NoticeAction[]> {
  const { end, entry } = due;
  const facts = workflowFacts(end);
  const name = end.name ?? end.workflow_id;
  const subject: NoticeSubject = {
    type: `workflow.${end.state}`,
    at: end.ended_at,
    facts: { workflow: facts },
    origin: `Heddle: workflow ${name} (${end.workflow_id})`,
  };
  return composeNotices(entry.channel, await rendered(context, due, upstream, facts, allowance), subject);
}

/** Renders a notification; if its template fails, the default message replaces it and includes the error. */
async function rendered(
  { log }: EngineContext,
  { end, notification }: DueEntry,
  upstream: Upstream | null,
  workflow: JsonObject,
  allowance: SlicedAllowance,
): Promise<RenderedNotification> {
  const words = wordsOf(end);
  try {
    if (notification instanceof Error) throw notification;
    const variables = { ...variablesOf(upstream), workflow, now: new Date(end.ended_at) };
    return await notification.render(variables, words, allowance);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    log.warn({ err: error, workflow_id: end.workflow_id }, 'notification template failed; sending the default message');
    return plainWords(words, error);
  }
}

function wordsOf({ name, workflow_id, state, reason, counts }: AnnouncedEnd): DefaultWords {
  const ended = Object.entries(counts).map(([of, n]) => `${n} ${of.replaceAll('_', ' ')}`);
  const tasks = ended.length === 0 ? 'It had no tasks.' : `Tasks: ${ended.join(', ')}.`;
  return {
    title: `Workflow ${name ?? workflow_id} ${WORDS_OF_STATE[state]}`,
    text: reason === null ? tasks : `${reason}\n${tasks}`,
  };
}

/** Builds the variable `workflow`, which webhooks receive too. Every state has its count. */
function workflowFacts(end: AnnouncedEnd): JsonObject {
  const { workflow_id: id, name, state, reason, counts, run, job_run_id, created_at, ended_at } = end;
  return {
    id,
    name,
    state: WORKFLOW_WIRE_STATE[state],
    reason,
    counts: Object.fromEntries(TERMINAL_STATES.map((each) => [each, counts[each] ?? 0])),
    run: run + 1,
    job_run_id,
    created_at: new Date(created_at).toISOString(),
    ended_at: new Date(ended_at).toISOString(),
    duration_secs: Math.round((ended_at - created_at) / 1000),
  };
}
