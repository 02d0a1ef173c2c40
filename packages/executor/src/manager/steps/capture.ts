import type { JobOutcome } from '../../execution/port.ts';
import { logTaskCompleted } from '../../observe/log-record.ts';
import { outcomeTtlMs, type ManagerContext } from '../context.ts';
import { outcomePayload } from '../payloads.ts';
import type { TaskEntry } from '../task-entry.ts';

/** Run that produced an outcome; null if the task never ran. */
export interface ExecutionInfo {
  readonly nodeId: string;
  readonly tier: string;
}

/**
 * Step 9: records the first outcome of a task as the bytes that its caller will get. Resolves when they are durable,
 * before any caller sees them, so that the outcome can never change.
 */
export async function capture(
  context: ManagerContext,
  task: TaskEntry,
  outcome: JobOutcome,
  ran: ExecutionInfo | null,
): Promise<void> {
  if (task.state !== 'waiting' && task.state !== 'running') return;
  task.state = 'ending';
  const { options, journal } = context;
  const { clock } = options;
  const at_ms = clock.now();
  task.duration_ms =
    task.acceptedAt === null ? Math.max(0, at_ms - task.accepted.created_at_ms) : clock.monotonic() - task.acceptedAt;
  const code = outcome.status === 'success' ? null : outcome.code;
  const payload = outcomePayload(task.id, outcome, at_ms);
  const { location, durable } = journal.append({ type: 'ended', id: task.id, code, at_ms }, payload);
  await durable;
  if (!isEnding(task)) return;
  task.outcome = { code, at_ms, payload: { bytes: payload, location, counted: false } };
  conclude(context, task);
  report(context, task, ran);
  task.notifyCompleted();
}

/** Returns false if the task was rejected after all while its outcome was being written. */
function isEnding({ state }: TaskEntry): boolean {
  return state === 'ending';
}

function conclude(context: ManagerContext, task: TaskEntry): void {
  task.state = 'completed';
  task.progress = null;
  task.stop = null;
  task.expiresAtMs = task.outcome!.at_ms + outcomeTtlMs(context);
  context.bytes.release(task.args);
  context.bytes.settle(task.outcome!.payload);
  context.tasks.noteCompleted(task);
}

/** Records the completion in metrics, log and audit log. */
function report({ options }: ManagerContext, task: TaskEntry, ran: ExecutionInfo | null): void {
  const { metrics, log, audit } = options;
  const { client, event_name, ingress: protocol } = task.accepted;
  const code = task.outcome!.code;
  const status = code === null ? 'success' : 'error';
  const duration_ms = task.duration_ms ?? 0;
  metrics.taskEnded({ status, protocol, event_name, duration_ms });
  if (code !== null) metrics.error(code, protocol);
  logTaskCompleted(log, {
    task_id: ran?.nodeId ?? task.id,
    correlation_id: task.id,
    event_name,
    duration_ms,
    status,
    ...(code === null ? {} : { code }),
    protocol,
    client_id: client,
  });
  if (code === 'CANCELED') audit.append({ action: 'canceled', client, correlation_id: task.id });
  if (ran !== null) {
    const { tier } = ran;
    audit.append({ action: 'executed', client, correlation_id: task.id, event_name, tier, status, code, duration_ms });
  }
}
