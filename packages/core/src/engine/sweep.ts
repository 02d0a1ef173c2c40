import { forgetClaimers } from '../store/claims.ts';
import { forgetActivity } from '../store/overview/activity.ts';
import { forgetWorkers } from '../store/overview/workers.ts';
import { releaseStuck } from '../store/deliveries.ts';
import { archiveWorkflows, deleteArchived, deleteIdleSlots } from '../store/retention.ts';
import { forgetIdempotencyKeys } from '../store/submissions.ts';
import { promoteDelayed, regrantSlots, relayOne, sweepLeases, type Swept } from '../store/transitions.ts';
import type { EngineContext } from './context.ts';
import type { RetentionResult, SweepResult } from './port.ts';
import { recordUnreported } from './traces/attempts.ts';

const PROMOTE_MAX = 5_000;
const LEASES_MAX = 50;
/** Sets of expired leases per pass, since each set may hold a single task and new ones keep expiring. */
const LEASE_SETS_MAX = 40;
const RELAYS_MAX = 100;
const BLOCKED_SLOTS_MAX = 1_000;
const IDLE_SLOTS_MAX = 1_000;

/** Runs one pass of everything that is driven by time. Each step is bounded. */
export async function sweep(context: EngineContext): Promise<SweepResult> {
  const now = context.now();
  const promoted = await promoteDelayed(context.database, PROMOTE_MAX, now);
  await context.observer.moved({ lanes: promoted.lanes ?? [] });
  const due = await sweepDue(context, now);
  context.signals.emit({ lanes: await regrantSlots(context.database, BLOCKED_SLOTS_MAX) });
  const relayed = await relayAll(context, now);
  const released = await releaseStuck(context.database, now);
  if (released > 0) context.signals.emit({ deliveries: true });
  return {
    promoted: promoted.promoted,
    requeued: due.requeued,
    timed_out: due.timedOut,
    relayed,
    more: promoted.promoted >= PROMOTE_MAX || due.more || relayed >= RELAYS_MAX,
  };
}

interface Due {
  timedOut: number;
  requeued: number;
  more: boolean;
}

async function sweepDue(context: EngineContext, now: string | null): Promise<Due> {
  const { database, settings, random } = context;
  const sum = { timedOut: 0, requeued: 0, more: false };
  for (let sets = 0; sets < LEASE_SETS_MAX; sets += 1) {
    const swept = await sweepLeases(database, LEASES_MAX, settings.claimTimeoutMs, random.next(), now);
    if (swept === null) return sum;
    const { timedOut, requeued } = await tellSwept(context, swept);
    sum.timedOut += timedOut;
    sum.requeued += requeued;
    if (swept.looked_at < LEASES_MAX) return sum;
  }
  return { ...sum, more: true };
}

async function tellSwept(context: EngineContext, swept: Swept): Promise<{ timedOut: number; requeued: number }> {
  const { observer, signals, metrics } = context;
  signals.emit({ lanes: swept.lanes });
  const { settled, lost, queued } = swept;
  recordUnreported(context, swept.overdue, 'timed_out');
  recordUnreported(context, lost?.attempts, 'lost');
  recordUnreported(context, queued?.attempts, 'failed');
  recordUnreported(context, queued?.returned, 'handed_back');
  recordUnreported(context, swept.undelivered, 'lost');
  for (const moved of [settled, lost?.failed, lost?.requeued, queued?.failed, queued?.requeued, swept.requeued]) {
    if (moved !== null && moved !== undefined) await observer.moved({ ...moved, codes: null });
  }
  const requeued = (swept.requeued?.count ?? 0) + (lost?.requeued.count ?? 0) + (queued?.requeued?.count ?? 0);
  if (requeued > 0) metrics?.claimsExpired.inc(requeued);
  const timedOut = (settled?.transitions ?? []).reduce((sum, { durations_ms }) => sum + (durations_ms?.length ?? 0), 0);
  return { timedOut, requeued };
}

async function relayAll(context: EngineContext, now: string | null): Promise<number> {
  for (let relayed = 0; relayed < RELAYS_MAX; relayed += 1) {
    const moved = await relayOne(context.database, now);
    if (moved === null) return relayed;
    await context.observer.moved(moved);
  }
  return RELAYS_MAX;
}

/** Archives ended workflows and deletes archived ones after their retention, about `limit` tasks of each. */
export async function retain(context: EngineContext, limit: number): Promise<RetentionResult> {
  const { database, settings } = context;
  const now = context.now();
  const archived = await archiveWorkflows(database, settings.archiveAfterMs, limit, now);
  const deleted = await deleteArchived(database, settings.deleteAfterMs, limit, now);
  await forgetIdempotencyKeys(database, now);
  await forgetClaimers(database, now);
  await forgetActivity(database, now);
  await forgetWorkers(database, now);
  await deleteIdleSlots(database, IDLE_SLOTS_MAX);
  return { archived, deleted };
}
