import { HeddleError } from '@heddle/base/errors';
import {
  claimDueDeliveries,
  deliveryExists,
  findDeliveries,
  renewTries,
  replayDead,
  settleTries,
  type DeliveryRecordRow,
  type DeliveryResultRow,
  type DeliveryRow,
} from '../store/deliveries.ts';
import { MAIL_ORIGIN, type NoticeAction } from '../domain/notification/notification.ts';
import type { Action } from '@heddle/base/vocabulary/task';
import type { EngineContext } from './context.ts';
import { recordUnreported } from './traces/attempts.ts';
import type { Delivery, DeliveryClaimRequest, DeliveryFilter, DeliveryRecord, DeliveryResult } from './port.ts';

/** Returns the stored form of an action, with its origin so that fairness need not parse URLs. */
export function storedAction<Stored extends Action | NoticeAction>(action: Stored): Stored & { origin: string } {
  return { ...action, origin: 'mail' in action ? MAIL_ORIGIN : new URL(action.params.url).origin };
}

function deliveryOf(row: DeliveryRow): Delivery {
  const { origin: _origin, ...action } = row.action;
  return { ...row, action };
}

export async function claimDeliveries(context: EngineContext, request: DeliveryClaimRequest): Promise<Delivery[]> {
  const rows = await claimDueDeliveries(
    context.database,
    {
      holder: request.holder,
      limit: request.limit,
      perOrigin: request.limit_per_origin,
      saturated: request.saturated_origins,
      leaseMs: request.lease_ms,
    },
    context.now(),
  );
  return rows.map(deliveryOf);
}

export async function renewDeliveries(
  context: EngineContext,
  tries: readonly { id: string; tries: number }[],
  leaseMs: number,
): Promise<void> {
  if (tries.length > 0) await renewTries(context.database, tries, leaseMs, context.now());
}

export async function settleDeliveries(context: EngineContext, results: readonly DeliveryResult[]): Promise<void> {
  if (results.length === 0) return;
  const rows = results.map((result): DeliveryResultRow => {
    const { id, tries, outcome, status } = result;
    const row = { id, tries, outcome, status };
    if (result.outcome === 'retry') return { ...row, error: result.error, delay_ms: Math.round(result.delay_ms) };
    if (result.outcome === 'dead') return { ...row, error: result.error };
    return result.cancel_action === undefined ? row : { ...row, cancel_action: storedAction(result.cancel_action) };
  });
  const moved = await settleTries(context.database, rows, context.random.next(), context.now());
  recordUnreported(context, moved.attempts, 'failed');
  await context.observer.delivered(moved);
}

export async function listDeliveries(context: EngineContext, filter: DeliveryFilter): Promise<DeliveryRecord[]> {
  const rows = await findDeliveries(context.database, filter);
  if (rows.length === 0 && filter.after !== undefined && !(await deliveryExists(context.database, filter.after))) {
    throw new HeddleError('INVALID_QUERY', undefined, {
      details: [`after: no such delivery: ${filter.after}; it was deleted meanwhile, so begin with the first page`],
    });
  }
  return rows.map((row: DeliveryRecordRow) => ({ ...row, ...deliveryOf(row) }));
}

export async function replayDeliveries(context: EngineContext, ids: readonly string[]): Promise<number> {
  const replayed = await replayDead(context.database, ids, context.now());
  if (replayed > 0) context.signals.emit({ deliveries: true });
  return replayed;
}
