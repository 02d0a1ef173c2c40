import type { JobOutcome } from '../../execution/port.ts';
import { outcomeTtlMs, type ManagerContext } from '../context.ts';
import { CANCELED } from '../methods/cancel.ts';
import type { StoredBytes } from '../stored-bytes.ts';
import { TaskEntry } from '../task-entry.ts';
import { recover, type TaskLife } from '../task-life.ts';
import { capture } from './capture.ts';
import { ACKNOWLEDGED_TTL_MS } from './cleanup.ts';
import type { Dispatcher } from './dispatch.ts';

const LOST: JobOutcome = {
  status: 'error',
  code: 'WORKER_LOST',
  message: 'The executor stopped while the task was running; it is unknown whether it took effect',
};

/** Restores tasks after a restart. Resolves when the outcomes of interrupted ones are on disk. */
export async function recoverTasks(
  context: ManagerContext,
  dispatcher: Dispatcher,
  lives: ReadonlyMap<string, TaskLife>,
): Promise<void> {
  const times = {
    nowMs: context.options.clock.now(),
    outcomeTtlMs: outcomeTtlMs(context),
    acknowledgedTtlMs: ACKNOWLEDGED_TTL_MS,
  };
  const completed: TaskEntry[] = [];
  const queued: TaskEntry[] = [];
  const ended: Promise<void>[] = [];
  for (const life of lives.values()) {
    const fate = recover(life, times);
    if (fate === 'forgotten') continue;
    const task = entryOf(life);
    setKept(context, task, life.acknowledgedAtMs);
    context.journal.segments.hold(task.segment);
    context.tasks.add(task);
    if (fate === 'completed') completed.push(task);
    else if (fate === 'queue') queued.push(task);
    else ended.push(capture(context, task, fate === 'lost' ? LOST : CANCELED, null));
  }
  restoreCompleted(context, completed);
  await Promise.all(ended);
  for (const task of queued) dispatcher.add(task);
  const fields = { waiting: queued.length, ended: ended.length, kept: completed.length };
  if (context.tasks.size > 0) context.options.log.info(fields, 'restored tasks from the journal');
}

function entryOf({ accepted, args, outcome, starts, mayRepeat, cancelRequested }: TaskLife): TaskEntry {
  const task = new TaskEntry(accepted, unread(args));
  task.starts = starts;
  task.mayRepeat = mayRepeat;
  task.cancelRequested = cancelRequested;
  task.segment = args.segment;
  if (outcome === null) return task;
  const { code, at_ms, payload } = outcome;
  task.outcome = { code, at_ms, payload: unread(payload) };
  task.duration_ms = Math.max(0, at_ms - accepted.created_at_ms);
  task.segment = Math.min(task.segment, payload.segment);
  return task;
}

function unread(location: StoredBytes['location']): StoredBytes {
  return { bytes: null, location, counted: false };
}

/** Sets the state and expiry of a task that has ended. */
function setKept(context: ManagerContext, task: TaskEntry, acknowledgedAtMs: number | null): void {
  if (acknowledgedAtMs !== null) {
    task.state = 'acknowledged';
    task.expiresAtMs = acknowledgedAtMs + ACKNOWLEDGED_TTL_MS;
  } else if (task.outcome !== null) {
    task.state = 'completed';
    task.expiresAtMs = task.outcome.at_ms + outcomeTtlMs(context);
  }
}

/** Restores ended tasks in order of expiry. */
function restoreCompleted({ tasks }: ManagerContext, completed: readonly TaskEntry[]): void {
  for (const task of completed.toSorted((one, other) => one.expiresAtMs - other.expiresAtMs)) {
    if (task.state === 'completed') tasks.noteCompleted(task);
    else tasks.noteAcknowledged(task);
  }
}
