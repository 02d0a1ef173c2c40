import type { ManagerContext } from '../context.ts';
import type { AcceptedRecord } from '../journal/records.ts';
import type { TaskEntry } from '../task-entry.ts';
import { endPastDeadline, type Dispatcher } from './dispatch.ts';
import { forget } from './register.ts';

/**
 * Retention of an acknowledged task's key, until any copy of its request in transit has expired: requests are accepted
 * for 60 s before and after their timestamp.
 */
export const ACKNOWLEDGED_TTL_MS = 120_000;
/** Tasks rewritten concurrently; each may hold a large outcome in memory. */
const CARRIED_AT_ONCE = 16;

/** Step 11: removes expired tasks and deletes unneeded files. */
export async function cleanUp(context: ManagerContext, dispatcher: Dispatcher): Promise<void> {
  const { tasks, options, quarantine, journal } = context;
  for (const task of tasks.expired(options.clock.now())) forget(context, task);
  tasks.recountActive();
  quarantine.sweep();
  endPastDeadline(context, dispatcher);
  await compact(context);
  await journal.segments.removeUnused();
}

/** Drops an acknowledged outcome but keeps the task's key, so that a late copy of the request does not run it again. */
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

/** Rewrites the few tasks in the oldest file if most of the journal belongs to removed tasks. */
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

/** Rewrites the current state of a task to the current file. */
async function carry(context: ManagerContext, task: TaskEntry): Promise<void> {
  const { journal, bytes } = context;
  const outcome = task.outcome;
  const isAcknowledged = task.state === 'acknowledged';
  const args = outcome === null ? await bytes.read(task.args) : null;
  const payload = outcome === null || isAcknowledged ? null : await bytes.read(outcome.payload);
  // Changes made during the reads are left to the next pass.
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
