import type { ManagerContext } from '../context.ts';
import type { AcceptedRecord } from '../journal/records.ts';
import type { TaskEntry } from '../task-entry.ts';
import { endPastDeadline, type Dispatcher } from './dispatch.ts';
import { forget } from './register.ts';

/**
 * How long the key of an acknowledged task is remembered: a copy of its request that was on its way is too old by then.
 * Requests are taken for 60 s before and after their time.
 */
export const ACKNOWLEDGED_TTL_MS = 120_000;
/** Tasks that are written again together: each may hold a large outcome in memory meanwhile. */
const CARRIED_AT_ONCE = 16;

/** Step 11: forgets what has been kept long enough, and deletes files in which nothing lives. */
export async function cleanUp(context: ManagerContext, dispatcher: Dispatcher): Promise<void> {
  const { tasks, options, quarantine, journal } = context;
  for (const task of tasks.expired(options.clock.now())) forget(context, task);
  tasks.recountActive();
  quarantine.sweep();
  endPastDeadline(context, dispatcher);
  await compact(context);
  await journal.segments.removeUnused();
}

/** The caller has the outcome: of the task its key is left, so that no late copy of the request runs it again. */
export function setAcknowledged(context: ManagerContext, task: TaskEntry, expiresAtMs: number): void {
  if (task.accepted.key === undefined) {
    forget(context, task);
    return;
  }
  context.bytes.release(task.outcome!.payload);
  task.state = 'acknowledged';
  task.expiresAtMs = expiresAtMs;
  context.tasks.noteAcknowledged(task);
}

/** Where most of the journal is of tasks that are gone, the few that live in its oldest file are written again. */
async function compact(context: ManagerContext): Promise<void> {
  const { journal, tasks, settings } = context;
  const { segments } = journal;
  const { oldest } = segments;
  if (oldest === null || oldest.tasks === 0 || journal.failure !== null) return;
  const isLarge = segments.bytes > Math.min(settings.journalBytesMax / 2, segments.segmentBytes * 2);
  if (!isLarge || segments.bytes < tasks.journalBytes * 2) return;
  const living = [...tasks.all()].filter(({ segment, state }) => segment === oldest.number && state !== 'ending');
  for (let at = 0; at < living.length; at += CARRIED_AT_ONCE) {
    await Promise.all(living.slice(at, at + CARRIED_AT_ONCE).map((task) => carry(context, task)));
  }
}

/** Writes all that counts of a task to the file that is written to now. */
async function carry(context: ManagerContext, task: TaskEntry): Promise<void> {
  const { journal, bytes } = context;
  const outcome = task.outcome;
  const isAcknowledged = task.state === 'acknowledged';
  const args = outcome === null ? await bytes.read(task.args) : null;
  const payload = outcome === null || isAcknowledged ? null : await bytes.read(outcome.payload);
  // What happened while they were read is for the next pass.
  if (task.outcome !== outcome || task.state === 'gone' || task.state === 'ending') return;
  const from = task.segment;
  const first = journal.append(carriedRecord(task), args);
  let last = first.durable;
  let payloadAppended = null;
  if (outcome !== null) {
    const { code, at_ms } = outcome;
    payloadAppended = journal.append({ type: 'ended', id: task.id, code, at_ms }, payload);
    last = payloadAppended.durable;
  }
  if (task.state === 'acknowledged') {
    const at_ms = task.expiresAtMs - ACKNOWLEDGED_TTL_MS;
    last = journal.append({ type: 'acknowledged', ids: [task.id], at_ms }).durable;
  }
  await Promise.all([first.durable, last]);
  journal.segments.release(from);
  if (isGone(task)) {
    journal.segments.release(first.location.segment);
    return;
  }
  task.segment = first.location.segment;
  if (outcome === null) task.args.location = first.location;
  else if (payloadAppended !== null && payload !== null) outcome.payload.location = payloadAppended.location;
}

function carriedRecord({ accepted, starts, mayRepeat, cancelRequested }: TaskEntry): AcceptedRecord {
  return {
    ...accepted,
    type: 'carried',
    ...(starts === 0 ? {} : { starts, repeat: mayRepeat }),
    ...(cancelRequested ? { cancel: true } : {}),
  };
}

function isGone({ state }: TaskEntry): boolean {
  return state === 'gone';
}
