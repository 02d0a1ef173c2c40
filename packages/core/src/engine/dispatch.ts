import { workerQueueOf, type StartTaskMessage } from '../domain/message.ts';
import { encodeStartTask } from '../domain/parse/encode.ts';
import type { MessageQueue } from '../queue/port.ts';
import { derivedId } from '@heddle/base/derived-id';
import { claimForQueue, findDispatchable, markWorkersSeen, type ClaimRow } from '../store/claims.ts';
import { traceOf, workflowsOf } from './claim.ts';
import type { EngineContext } from './context.ts';
import { resolveInputs } from './flow/resolve.ts';
import { putBack } from './heartbeat.ts';
import { laneIds } from './lanes.ts';
import { report } from './report.ts';
import { inTransaction } from './transaction.ts';

/** Kinds per pass; the others follow in the next. */
const KINDS_MAX = 1_000;

/**
 * Claims ready tasks of kinds whose workers read queues and writes their messages in the same transaction, so that
 * every claimed attempt has exactly one message. Uses one transaction per kind.
 */
export async function dispatch(context: EngineContext, holder: string, limit: number): Promise<StartTaskMessage[]> {
  const { queue } = context;
  if (queue === undefined) return [];
  const dispatched: StartTaskMessage[] = [];
  for (const kind of await findDispatchable(context.database, KINDS_MAX, context.now())) {
    if (dispatched.length >= limit) break;
    dispatched.push(...(await dispatchKind(context, queue, kind, holder, limit - dispatched.length)));
  }
  return dispatched;
}

function dispatchKind(
  context: EngineContext,
  queue: Pick<MessageQueue, 'sendIn'>,
  kindId: number,
  holder: string,
  limit: number,
): Promise<StartTaskMessage[]> {
  return inTransaction(context, async (inner, tx) => {
    const lanes = [kindId];
    const room = context.claimSizes.limitOf(lanes, limit);
    const { rows, refused } = await claimForQueue(tx, kindId, room, holder, inner.now());
    inner.observer.refused(refused);
    if (rows.length === 0) return [];
    const kind = (await inner.kinds.names([kindId])).get(kindId)!;
    const tasks = rows.map((row) => ({ ...row, kind }));
    const { resolved, failures, deferred } = await resolveInputs(inner, tasks);
    // In this transaction, so that no task stays claimed without a message.
    if (failures.length > 0) await report(inner, failures);
    if (deferred.length > 0) {
      await putBack(
        inner,
        deferred.map(({ id: task_id, attempt }) => ({ task_id, attempt })),
      );
    }
    context.claimSizes.note(lanes, room, rows.length, deferred.length);
    if (deferred.length > 0 || (room < limit && rows.length >= room)) inner.signals.emit({ lanes });
    const messages = resolved.map((row) => messageOf(inner, row, kind));
    await queue.sendIn(
      tx,
      workerQueueOf(kind),
      // The id identifies the attempt of a message or a dead letter.
      messages.map((message) => ({ id: startMessageId(message), body: encodeStartTask(message) })),
    );
    inner.signals.emit({ workflows: workflowsOf(rows) });
    await inner.observer.claimed('pending', 'claimed', [{ kind: kindId, waits_ms: rows.map((row) => row.waited_ms) }]);
    return messages;
  });
}

/** Mirrors start_message_id() in SQL. */
function startMessageId({ task: { id, attempt } }: StartTaskMessage): string {
  return derivedId(id, { ordinal: attempt });
}

function messageOf(context: EngineContext, row: ClaimRow, kind: string): StartTaskMessage {
  return {
    type: 'StartTask',
    root_container_id: row.workflow_id,
    task: {
      id: row.id,
      kind,
      name: row.name,
      local_id: row.local_id,
      input: row.metadata,
      attempt: row.attempt,
      timeout_secs: row.timeout_secs,
      ...(row.deadline_basis === 0 ? { timeout_basis: 'start' as const } : {}),
      parent_id: row.container_id,
    },
    ...traceOf(context, row),
  };
}

/** Records that these workers read the queues of their kinds; the last entry of a worker and kind counts. */
export async function workersSeen(
  context: EngineContext,
  workers: readonly { worker: string; kinds: readonly string[]; concurrency: number }[],
): Promise<void> {
  const entries = workers.flatMap(({ worker, kinds, concurrency }) =>
    kinds.map((kind) => ({ worker, kind, concurrency })),
  );
  if (entries.length === 0) return;
  const lanes = await laneIds(
    context,
    entries.map((entry) => `kind:${entry.kind}`),
  );
  const seen = new Map<string, { lane: number; worker: string; concurrency: number }>();
  entries.forEach(({ worker, concurrency }, index) => {
    const lane = lanes[index]!;
    seen.set(JSON.stringify([lane, worker]), { lane, worker, concurrency });
  });
  const ordered = [...seen.values()].sort((a, b) => a.lane - b.lane || (a.worker < b.worker ? -1 : 1));
  await markWorkersSeen(context.database, ordered, context.now());
}
