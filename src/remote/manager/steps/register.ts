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

/** What a full journal, or one that cannot be written, tells callers to wait. */
const JOURNAL_RETRY_SECS = 10;

/**
 * Step 4: the task in the registry of clients and in the journal, and in the queue; or the one that the same idempotency
 * key brought before. Resolves when the task is durable.
 *
 * @param traceparent of the request's span, kept with the task
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
  requireRoom(context, dispatcher, caller, request, args);
  const accepted = acceptedRecord(context, received, request, digest, traceparent);
  const { location, durable } = context.journal.append(accepted, args);
  const task = new TaskEntry(accepted, { bytes: args, location, counted: false });
  task.acceptedAt = context.options.clock.monotonic();
  context.tasks.add(task);
  // It may begin its way at once: what is written about it later is never durable before this record is.
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
      throw journalRefusal('The journal cannot be written now', error);
    },
  );
  await task.admitted;
  return task;
}

/** The first task of the key; null where there is none. */
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
    throw new RemoteFailure('NOT_FOUND', 'The task of this idempotency key was acknowledged; its outcome is not kept');
  }
  return before;
}

/** What can be refused at all is refused here: behind it the task is the executor's to end. */
function requireRoom(
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
  requireQueueRoom(context, dispatcher, caller.client);
  requireJournalRoom(context, caller.client);
}

function unregistered(context: ManagerContext, { scopes }: Caller, eventName: string): RemoteFailure {
  const names = context.options.registry.names();
  const available = names.filter((name) => isAllowed(context, name) && allows(scopes, `task:execute:${name}`));
  const hint = context.settings.debug ? { availableEvents: available.slice(0, 1_000) } : {};
  return new RemoteFailure('EVENT_NOT_REGISTERED', `The event ${eventName} is not registered here`, hint);
}

/** Each client may fill its share of the queue: all of it while nobody else submits. */
function requireQueueRoom(
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

/** Outcomes that nobody collects must not fill memory and disk; no client can fill more than half of either. */
function requireJournalRoom(context: ManagerContext, client: string): void {
  const { tasks, settings, journal } = context;
  if (journal.failure !== null) throw journalRefusal('The journal cannot be written now', journal.failure);
  const usage = tasks.usageOf(client);
  if (journal.segments.bytes >= settings.journalBytesMax || usage.journalBytes > settings.journalBytesMax / 2) {
    throw journalRefusal('Too many outcomes wait to be acknowledged');
  }
  if (tasks.size < settings.retainedTasksMax && usage.tasks < settings.retainedTasksMax / 2) return;
  const least = tasks.leastMissed();
  if (least === undefined) throw journalRefusal('Too many outcomes wait to be acknowledged');
  forget(context, least);
  journal.append({ type: 'removed', ids: [least.id] });
}

/** Nothing of the task is kept any more. */
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

/** Of what the key stands for; neither how the answer is wanted nor the order of members is part of it. */
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
