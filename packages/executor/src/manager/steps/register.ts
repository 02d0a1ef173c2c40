import { hash } from 'node:crypto';

import { RemoteFailure } from '../../protocol/codes.ts';
import type { SubmitRequest } from '../../protocol/messages.ts';
import type { Caller, Received } from '../../security/port.ts';
import { allows } from '../../security/scopes.ts';
import { isAllowed, type ManagerContext } from '../context.ts';
import type { AcceptedRecord } from '../journal/records.ts';
import { TaskEntry } from '../task-entry.ts';
import { quarantineKey } from './instantiate.ts';
import type { Dispatcher } from './dispatch.ts';
import type { Submission } from './validate.ts';

/** Retry delay sent to callers while the journal is full or cannot be written. */
const JOURNAL_RETRY_SECS = 10;

/**
 * Step 4: adds the task to the registry, the journal and the queue, or returns the earlier task with the same
 * idempotency key. Resolves when the task is durable.
 *
 * @param traceparent of the request's span, stored with the task
 */
export async function register(
  context: ManagerContext,
  dispatcher: Dispatcher,
  received: Received,
  { caller, request }: Submission,
  traceparent: string | null,
): Promise<TaskEntry> {
  const args = Buffer.from(JSON.stringify(request.args));
  const digest = request.idempotency_key === undefined ? null : digestOf(request);
  const before = earlierTask(context, caller, request, digest);
  if (before !== null) {
    await before.admitted;
    return before;
  }
  requireCapacity(context, dispatcher, caller, request, args);
  const accepted = acceptedRecord(context, received, request, digest, traceparent);
  const { location, durable } = context.journal.append(accepted, args);
  const task = new TaskEntry(accepted, { bytes: args, location, counted: false });
  task.acceptedAt = context.options.clock.monotonic();
  context.tasks.add(task);
  // It may proceed immediately: later records about it are never durable before this one.
  dispatcher.add(task);
  task.admitted = durable.then(
    () => {
      task.segment = location.segment;
      if (task.outcome === null) context.bytes.settle(task.args);
    },
    (error: unknown) => {
      dispatcher.withdraw(task);
      task.state = 'gone';
      context.tasks.remove(task);
      throw journalRefusal('The journal cannot be written at present', error);
    },
  );
  await task.admitted;
  return task;
}

/** Returns the first task with the key; null if there is none. */
function earlierTask(
  { tasks }: ManagerContext,
  caller: Caller,
  { idempotency_key }: SubmitRequest,
  digest: string | null,
): TaskEntry | null {
  const before = idempotency_key === undefined ? undefined : tasks.byKey(caller.client, idempotency_key);
  if (before === undefined) return null;
  if (before.accepted.digest !== digest) throw new RemoteFailure('IDEMPOTENCY_MISMATCH');
  if (before.state === 'acknowledged') {
    throw new RemoteFailure(
      'NOT_FOUND',
      'The task of this idempotency key was acknowledged; its outcome is no longer stored',
    );
  }
  return before;
}

/** Rejects whatever can be rejected: after this the executor must bring the task to an outcome. */
function requireCapacity(
  context: ManagerContext,
  dispatcher: Dispatcher,
  caller: Caller,
  request: SubmitRequest,
  args: Uint8Array,
): void {
  if (dispatcher.isDraining) throw new RemoteFailure('SHUTTING_DOWN', undefined, { retryAfterSecs: 5 });
  const { quarantine, options } = context;
  const quarantinedSecs = quarantine.isEmpty ? null : quarantine.remainingSecs(quarantineKey(request.event_name, args));
  if (quarantinedSecs !== null) {
    throw new RemoteFailure('QUARANTINED', undefined, { retryAfterSecs: quarantinedSecs });
  }
  if (!options.registry.has(request.event_name)) throw unregistered(context, caller, request.event_name);
  requireQueueCapacity(context, dispatcher, caller.client);
  requireJournalCapacity(context, caller.client);
}

function unregistered(context: ManagerContext, { scopes }: Caller, eventName: string): RemoteFailure {
  const names = context.options.registry.names();
  const available = names.filter((name) => isAllowed(context, name) && allows(scopes, `task:execute:${name}`));
  const hint = context.settings.debug ? { availableEvents: available.slice(0, 1_000) } : {};
  return new RemoteFailure('EVENT_NOT_REGISTERED', `The event ${eventName} is not registered here`, hint);
}

/** Limits each client to its share of the queue, which is all of it while no other client submits. */
function requireQueueCapacity(
  { tasks, settings, throughput }: ManagerContext,
  dispatcher: Dispatcher,
  client: string,
): void {
  const clients = tasks.noteActive(client);
  const share = Math.max(1, Math.floor(settings.maxPendingTasks / clients));
  if (dispatcher.pending < settings.maxPendingTasks && dispatcher.pendingOf(client) < share) return;
  const retryAfterSecs = throughput.retryAfterSecs(dispatcher.pending);
  throw new RemoteFailure('QUEUE_FULL', undefined, { retryAfterSecs });
}

/** Keeps uncollected outcomes from filling memory and disk; no client can use more than half of either. */
function requireJournalCapacity(context: ManagerContext, client: string): void {
  const { tasks, settings, journal } = context;
  if (journal.failure !== null) throw journalRefusal('The journal cannot be written at present', journal.failure);
  const usage = tasks.usageOf(client);
  if (journal.segments.bytes >= settings.journalBytesMax || usage.journalBytes > settings.journalBytesMax / 2) {
    throw journalRefusal('Too many unacknowledged outcomes');
  }
  if (tasks.size < settings.retainedTasksMax && usage.tasks < settings.retainedTasksMax / 2) return;
  const least = tasks.evictionCandidate();
  if (least === undefined) throw journalRefusal('Too many unacknowledged outcomes');
  forget(context, least);
  journal.append({ type: 'removed', ids: [least.id] });
}

/** Removes a task and all its stored data. */
export function forget({ tasks, bytes, journal }: ManagerContext, task: TaskEntry): void {
  bytes.release(task.args);
  if (task.outcome !== null) bytes.release(task.outcome.payload);
  task.state = 'gone';
  tasks.remove(task);
  journal.segments.release(task.segment);
}

function journalRefusal(message: string, cause?: unknown): RemoteFailure {
  return new RemoteFailure('QUEUE_FULL', message, { retryAfterSecs: JOURNAL_RETRY_SECS, cause });
}

/** Digest of what the key stands for; excludes the mode and the order of members. */
function digestOf({ event_name, timeout_secs = 0, args }: SubmitRequest): string {
  return hash('sha256', `${event_name}\0${timeout_secs}\0${JSON.stringify(args, withSortedMembers)}`, 'base64url');
}

function withSortedMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function acceptedRecord(
  { newCorrelationId, options }: ManagerContext,
  { ingress, request: { client } }: Received,
  { event_name, idempotency_key, timeout_secs, deadline_ms }: SubmitRequest,
  digest: string | null,
  traceparent: string | null,
): AcceptedRecord {
  return {
    type: 'accepted',
    id: newCorrelationId(),
    client,
    ingress,
    event_name,
    created_at_ms: options.clock.now(),
    ...(idempotency_key === undefined || digest === null ? {} : { key: idempotency_key, digest }),
    ...(timeout_secs === undefined ? {} : { timeout_secs }),
    ...(deadline_ms === undefined ? {} : { deadline_ms }),
    ...(traceparent === null ? {} : { traceparent }),
  };
}
