import { endKindOf } from '@heddle/core/domain/runner/end-reasons';
import type { ProviderInstance } from '@heddle/core/pool/port/provider';
import type { SweepResult } from '@heddle/core/pool/port/store';
import { adopt } from './adopt.ts';
import type { MemoryMoves } from './moves.ts';
import { byNumber, compareText, type RequestRow, type RunnerRow } from './rows.ts';
import type { MemoryTables } from './tables.ts';

type Keep = { readonly resource_class: string; readonly usage_class: string; readonly count: number };

/** Ends overdue runners and requests, and reconciles runners with their provider. */
export class MemoryUpkeep {
  readonly #tables: MemoryTables;
  readonly #moves: MemoryMoves;
  /** When each unknown instance was first listed, by provider. */
  readonly #orphans = new Map<string, Map<string, number>>();

  constructor(tables: MemoryTables, moves: MemoryMoves) {
    this.#tables = tables;
    this.#moves = moves;
  }

  sweep(limit: number, keep: readonly Keep[]): SweepResult {
    const expired = this.#expire(limit);
    const released = this.#releaseEnded(limit);
    const created = this.#overdue('created');
    const unconfirmed = this.#overdue('claimed');
    const { suspected, lost } = this.#silent();
    // Collected before anything ends, since the end of one runner may free another.
    const over: [string, readonly RunnerRow[]][] = [
      ['lost', lost.filter((row) => !unconfirmed.includes(row))],
      ['never launched', created.filter(({ provider_id }) => provider_id === null)],
      ['never registered', created.filter(({ provider_id }) => provider_id !== null)],
      ['unconfirmed', unconfirmed],
    ];
    const ended: Record<string, number> = {};
    let requeued = 0;
    const end = (rows: readonly RunnerRow[], reason: string): void => {
      if (rows.length === 0) return;
      requeued += this.#moves.end(rows, reason);
      ended[reason] = rows.length;
    };
    for (const [reason, rows] of over) end(rows.toSorted(byNumber).slice(0, limit), reason);
    end(this.#idleTooLong(keep).slice(0, limit), 'idle too long');
    this.#suspect(suspected);
    return { ended, requeued, expired, released };
  }

  reconcile(provider: string, listed: readonly ProviderInstance[]): { orphans: string[]; vanished: number } {
    const { runners, now, options } = this.#tables;
    const present = listed.filter(({ state }) => state !== 'gone');
    adopt(this.#tables, provider, present);
    const orphans = this.#findOrphans(provider, present);
    const states = new Map(present.map(({ provider_id, state }) => [provider_id, state]));
    const { suspected, vanished } = this.#missing(provider, states);
    this.#moves.end(vanished, 'vanished');
    for (const row of vanished) row.gone_at = now;
    this.#suspect(suspected);
    for (const row of runners.values()) {
      if (row.provider !== provider || row.provider_id === null) continue;
      const state = states.get(row.provider_id);
      const isLongEnded = row.state === 'terminated' && row.state_since + options.times.recheck_ms <= now;
      if (state !== undefined && row.state === 'created') row.suspected_at = null;
      // A listing may be stale: an instance that is listed again is not gone.
      if (state !== undefined && state !== 'stopping') row.gone_at = null;
      if (state === undefined && isLongEnded) row.gone_at ??= now;
    }
    return { orphans, vanished: vanished.length };
  }

  countEnded(limit: number): Record<string, number> {
    const ended = [...this.#tables.runners.values()].filter(({ state, counted }) => state === 'terminated' && !counted);
    const counts: Record<string, number> = {};
    for (const row of ended.slice(0, limit)) {
      const kind = endKindOf(row.reason, row.provider_id !== null);
      counts[kind] = (counts[kind] ?? 0) + 1;
      row.counted = true;
    }
    return counts;
  }

  /** Deletes old rows; returns how many. */
  forget(before: number, limit: number): number {
    const { runners, requests, batches } = this.#tables;
    let left = limit;
    const forget = <Row>(rows: Map<string, Row>, hasEnded: (row: Row) => boolean): void => {
      for (const [id, row] of rows) {
        if (left > 0 && hasEnded(row)) {
          rows.delete(id);
          left -= 1;
        }
      }
    };
    forget(runners, ({ state, state_since, gone_at, provider_id }) => {
      return state === 'terminated' && state_since < before && (gone_at !== null || provider_id === null);
    });
    forget(requests, ({ state, ended_at }) => state === 'ended' && ended_at! < before);
    forget(batches, (batch) => {
      const hasEnded = batch.next_try_at === null && batch.planned_at < before;
      return hasEnded && [...batch.runners].every(({ id }) => !runners.has(id));
    });
    return limit - left;
  }

  #overdue(state: 'claimed' | 'created'): RunnerRow[] {
    const { now } = this.#tables;
    return this.#live((row) => row.state === state && Math.min(row.threshold, row.confirm_by ?? Infinity) <= now);
  }

  /**
   * Returns runners that were idle for too long; those that are kept get a new threshold, so that they stay claimable.
   */
  #idleTooLong(keep: readonly Keep[]): RunnerRow[] {
    const { now, options } = this.#tables;
    const idle = this.#live(({ state }) => state === 'idle');
    const ended: RunnerRow[] = [];
    for (const rows of Map.groupBy(idle, ({ type }) => `${type?.resource_class} ${type?.usage_class}`).values()) {
      const { type } = rows[0]!;
      const kept = keep.filter(
        (each) => each.resource_class === type?.resource_class && each.usage_class === type.usage_class,
      );
      const count = kept.reduce((most, each) => Math.max(most, each.count), 0);
      const late = rows.filter(({ threshold }) => threshold <= now);
      late.sort((one, other) => other.threshold - one.threshold || compareText(other.id, one.id));
      const stay = Math.min(late.length, Math.max(0, count - (rows.length - late.length)));
      for (const row of late.slice(0, stay)) {
        row.threshold = now + options.times.idle_ms;
        // Queue backends must receive the new threshold.
        row.offered_at = null;
      }
      ended.push(...late.slice(stay));
    }
    return ended;
  }

  /** Returns runners without a heartbeat, found by a first check (suspected) and by a second one (lost). */
  #silent(): { suspected: RunnerRow[]; lost: RunnerRow[] } {
    const { now, options } = this.#tables;
    const silent = this.#live(
      ({ state, seen_at, state_since }) =>
        state !== 'created' && (seen_at ?? state_since) <= now - options.times.heartbeat_timeout_ms,
    );
    return { suspected: silent.filter(isNewlySilent), lost: silent.filter((row) => this.#isSuspectedTwice(row)) };
  }

  #isSuspectedTwice(row: RunnerRow): boolean {
    const { now, options } = this.#tables;
    return !isNewlySilent(row) && row.suspected_at! <= now - options.times.recheck_ms;
  }

  #suspect(rows: readonly RunnerRow[]): void {
    for (const row of rows) if (row.state !== 'terminated') row.suspected_at = this.#tables.now;
  }

  #releaseEnded(limit: number): number {
    const { tasks } = this.#tables.options;
    if (tasks === undefined) return 0;
    const open = [...this.#tables.requests.values()].filter(
      ({ state, source }) => state !== 'ended' && source === 'task',
    );
    const over = open.filter((request) => tasks.hasEnded(request)).slice(0, limit);
    const released = over.reduce((sum, { runners }) => sum + runners.size, 0);
    for (const request of over) this.#moves.endRequest(request, 'its task has ended');
    return released;
  }

  #expire(limit: number): number {
    const { now, waiting } = this.#tables;
    const isExpired = ({ expires_at }: RequestRow): boolean => expires_at !== null && expires_at <= now;
    const expired = waiting.items.filter(isExpired).slice(0, limit);
    for (const request of expired) this.#tables.settle(request, 'ended', 'no runner became available in time');
    return expired.length;
  }

  /** An instance without tags may belong to a launch that is being retried, so it gets as long as a launch may take. */
  #findOrphans(provider: string, present: readonly ProviderInstance[]): string[] {
    const { now, options, batches } = this.#tables;
    const { recheck_ms, created_ms } = options.times;
    const before = this.#orphans.get(provider) ?? new Map<string, number>();
    const unknown = present.filter(
      ({ state, provider_id }) => state !== 'stopping' && this.#tables.runnerAt(provider, provider_id) === undefined,
    );
    const seen = new Map(unknown.map(({ provider_id }) => [provider_id, before.get(provider_id) ?? now]));
    this.#orphans.set(provider, seen);
    const isAwaited = (since: number): boolean =>
      [...batches.values()].some(
        (batch) =>
          batch.provider === provider && batch.next_try_at !== null && batch.tries > 0 && batch.planned_at <= since,
      );
    return unknown
      .filter(({ provider_id, runner_id, batch_id }) => {
        const since = seen.get(provider_id)!;
        const isSure = runner_id !== null || batch_id !== null || since + created_ms <= now || !isAwaited(since);
        return since + recheck_ms <= now && isSure;
      })
      .map(({ provider_id }) => provider_id)
      .sort();
  }

  /** Returns runners missing in a first and in a second listing; a recent heartbeat outweighs the listing. */
  #missing(provider: string, there: ReadonlyMap<string, unknown>): { suspected: RunnerRow[]; vanished: RunnerRow[] } {
    const { now, options } = this.#tables;
    const missing = this.#live(
      (row) =>
        row.provider === provider &&
        row.provider_id !== null &&
        !there.has(row.provider_id) &&
        (row.seen_at ?? -Infinity) <= now - options.times.heartbeat_max_age_ms,
    );
    const isNew = ({ suspected_at, seen_at }: RunnerRow): boolean =>
      suspected_at === null || (seen_at ?? -Infinity) >= suspected_at;
    const isSecond = ({ suspected_at }: RunnerRow): boolean => suspected_at! <= now - options.times.recheck_ms;
    return { suspected: missing.filter(isNew), vanished: missing.filter((row) => !isNew(row) && isSecond(row)) };
  }

  #live(matches: (row: RunnerRow) => boolean): RunnerRow[] {
    return [...this.#tables.live].filter(matches);
  }
}

/** Whether the runner is not suspected yet, or has sent a heartbeat since. */
function isNewlySilent({ suspected_at, seen_at, state_since }: RunnerRow): boolean {
  return suspected_at === null || (seen_at ?? state_since) >= suspected_at;
}
