import type { JsonObject } from '../../domain/json.ts';
import { composeNotices, type NoticeSubject } from '../../domain/notification/compose.ts';
import type {
  NoticeAction,
  RenderedNotification,
  WorkflowNotification,
} from '../../domain/notification/notification.ts';
import { TERMINAL_STATES } from '../../domain/task-state.ts';
import { WORKFLOW_WIRE_STATE } from '../../domain/workflow.ts';
import { takeEnds, writeNotices, type EndToTell, type NoticeRow } from '../../store/notices.ts';
import type { EngineContext } from '../context.ts';
import { storedAction } from '../outbox.ts';
import { plainWords } from './notices.ts';
import { requireNotification, WORKFLOW_VARIABLES, type DefaultWords } from './render.ts';
import { readVariables } from './variables.ts';

const WORDS_OF_STATE = {
  succeeded: 'succeeded',
  failed: 'failed',
  timed_out: 'timed out',
  partially_failed: 'partially failed',
  disabled: 'was disabled',
} as const satisfies Record<EndToTell['state'], string>;

/**
 * Writes what is to be told of the ends of these workflows: once for each run of a workflow, however often and in however
 * many processes it is called. Belongs into the transaction that saw them end. Returns how many deliveries that are.
 */
export async function announceEnds(context: EngineContext, ids: readonly string[]): Promise<number> {
  const { database } = context;
  if (ids.length === 0) return 0;
  const rows: NoticeRow[] = [];
  for (const end of await takeEnds(database, ids)) {
    const told = end.entries.filter(({ on }) => on.some((state) => state === WORKFLOW_WIRE_STATE[end.state]));
    let ordinal = 0;
    for (const entry of told) {
      for (const action of await noticesOf(context, end, entry)) {
        rows.push(rowOf(end, action, ordinal));
        ordinal += 1;
      }
    }
  }
  const written = await writeNotices(database, rows, context.now());
  if (written > 0) context.signals.emit({ deliveries: true });
  return written;
}

function rowOf({ workflow_id, run }: EndToTell, action: NoticeAction, ordinal: number): NoticeRow {
  const key = `${workflow_id}:end${ordinal > 0 ? `:${ordinal + 1}` : ''}${run > 0 ? `:run-${run + 1}` : ''}`;
  return { t: workflow_id, w: workflow_id, a: run + 1, o: ordinal, c: storedAction(action), k: key };
}

async function noticesOf(context: EngineContext, end: EndToTell, entry: WorkflowNotification): Promise<NoticeAction[]> {
  const facts = workflowFacts(end);
  const name = end.name ?? end.workflow_id;
  const subject: NoticeSubject = {
    type: `workflow.${end.state}`,
    at: end.ended_at,
    facts: { workflow: facts },
    origin: `Heddle: workflow ${name} (${end.workflow_id})`,
  };
  return composeNotices(entry.channel, await rendered(context, end, entry, facts), subject);
}

/** A template that fails must not keep an end from being told: Heddle's own words take its place, and say why. */
async function rendered(
  { database, log }: EngineContext,
  end: EndToTell,
  entry: WorkflowNotification,
  workflow: JsonObject,
): Promise<RenderedNotification> {
  const words = wordsOf(end);
  try {
    const notification = requireNotification(entry, WORKFLOW_VARIABLES);
    const variables = await readVariables(database, end.workflow_id, notification.expressions);
    return notification.render({ ...variables, workflow, now: new Date(end.ended_at) }, words);
  } catch (error) {
    // What the database says is not the template's fault, and the end is told at the next try.
    if (!(error instanceof Error) || 'code' in error) throw error;
    log.warn(
      { err: error, workflow_id: end.workflow_id },
      'A notification is told in plain words: its template failed',
    );
    return plainWords(words, error);
  }
}

function wordsOf({ name, workflow_id, state, reason, counts }: EndToTell): DefaultWords {
  const ended = Object.entries(counts).map(([of, n]) => `${n} ${of.replaceAll('_', ' ')}`);
  const tasks = ended.length === 0 ? 'It had no tasks.' : `Tasks: ${ended.join(', ')}.`;
  return {
    title: `Workflow ${name ?? workflow_id} ${WORDS_OF_STATE[state]}`,
    text: reason === null ? tasks : `${reason}\n${tasks}`,
  };
}

/** The variable `workflow`, and what a webhook is told of it. Every state has its count. */
function workflowFacts(end: EndToTell): JsonObject {
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
