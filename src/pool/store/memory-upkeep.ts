import type { ProviderInstance } from '../port/provider.ts';
import type { SweepResult } from '../port/store.ts';
import type { MemoryMoves } from './memory-moves.ts';
import { byNumber, compareText, isHeld, type RequestRow, type RunnerRow } from './memory-rows.ts';
import type { MemoryTables } from './memory-tables.ts';

type Keep = { readonly resource_class: string; readonly usage_class: string; readonly count: number };

/** What ends by the passing of time, and what disagrees with what its provider says. */
export class MemoryUpkeep {
  readonly #tables: MemoryTables;
  readonly #moves: MemoryMoves;
  /** When the provider was first seen to run what no row knows. */
  readonly #orphans = new Map<string, Map<string, number>>();

  constructor(tables: MemoryTables, moves: MemoryMoves) {
    this.#tables = tables;
    this.#moves = moves;
  }

  sweep(limit: number, keep: readonly Keep[]): SweepResult {
    const ended: Record<string, number> = {};
    let requeued = 0;
    let left = limit;
    const end = (rows: readonly RunnerRow[], reason: string): void => {
      const some = rows.toSorted(byNumber).slice(0, left);
      if (some.length === 0) return;
      left -= some.length;
      requeued += this.#moves.end(some, reason);
      ended[reason] = (ended[reason] ?? 0) + some.length;
    };
    const expired = this.#expire(limit);
    const released = this.#releaseOver(limit);
    end(this.#overdue('claimed'), 'unconfirmed');
    const created = this.#overdue('created');
    end(
      created.filter(({ type }) => type !== null),
      'never registered',
    );
    end(
      created.filter(({ type }) => type === null),
      'never launched',
    );
    end(this.#idleTooLong(keep), 'idle too long');
    end(this.#lost(), 'lost');
    return { ended, requeued, expired, released };
  }

  reconcile(provider: string, listed: readonly ProviderInstance[]): { orphans: string[]; vanished: number } {
    const present = listed.filter(({ state }) => state !== 'gone');
    const orphans = this.#findOrphans(provider, present);
    const there = new Set(present.map(({ provider_id }) => provider_id));
    const vanished = this.#findVanished(provider, there);
    this.#moves.end(vanished, 'vanished');
    return { orphans, vanished: vanished.length };
  }

  /** Returns how many rows. */
  forget(before: number, limit: number): number {
    const { runners, requests, batches } = this.#tables;
    let left = limit;
    const forget = <Row>(rows: Map<string, Row>, isOver: (row: Row) => boolean): void => {
      for (const [id, row] of rows) {
        if (left > 0 && isOver(row)) {
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
      const isOver = batch.next_try_at === null && batch.planned_at < before;
      return isOver && [...batch.runners].every(({ id }) => !runners.has(id));
    });
    return limit - left;
  }

  #overdue(state: 'claimed' | 'created'): RunnerRow[] {
    const { now } = this.#tables;
    return this.#live((row) => row.state === state && Math.min(row.threshold, row.confirm_by ?? Infinity) <= now);
  }

  /** Those that are kept in spite of their time get a new one, so that they can be claimed. */
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
        // A backend that keeps messages is to be told of the new end.
        row.offered_at = null;
      }
      ended.push(...late.slice(stay));
    }
    return ended;
  }

  /** Silent at two looks. */
  #lost(): RunnerRow[] {
    const { now, options } = this.#tables;
    const { silent_ms, doubt_ms } = options.times;
    const lost: RunnerRow[] = [];
    for (const row of this.#tables.live) {
      if (row.state === 'created' || row.seen_at === null || row.seen_at > now - silent_ms) row.silent_at = null;
      else if (row.silent_at === null || row.silent_at <= row.seen_at) row.silent_at = now;
      else if (row.silent_at <= now - doubt_ms) lost.push(row);
    }
    return lost;
  }

  #releaseOver(limit: number): number {
    const { tasks } = this.#tables.options;
    if (tasks === undefined) return 0;
    const open = [...this.#tables.requests.values()].filter(
      ({ state, source }) => state !== 'ended' && source === 'task',
    );
    const over = open.filter((request) => tasks.isOver(request)).slice(0, limit);
    const released = over.reduce((sum, { runners }) => sum + runners.size, 0);
    for (const request of over) this.#moves.endRequest(request, 'its attempt is over');
    return released;
  }

  #expire(limit: number): number {
    const { now, waiting } = this.#tables;
    const isOver = ({ expires_at }: RequestRow): boolean => expires_at !== null && expires_at <= now;
    const over = waiting.items.filter(isOver).slice(0, limit);
    for (const request of over) this.#tables.settle(request, 'ended', 'it was not served in time');
    return over.length;
  }

  #findOrphans(provider: string, present: readonly ProviderInstance[]): string[] {
    const { now, options } = this.#tables;
    const before = this.#orphans.get(provider) ?? new Map<string, number>();
    const seen = new Map<string, number>();
    for (const instance of present) {
      if (instance.state === 'stopping' || this.#isKnown(provider, instance)) continue;
      seen.set(instance.provider_id, before.get(instance.provider_id) ?? now);
    }
    this.#orphans.set(provider, seen);
    return [...seen].flatMap(([id, since]) => (since <= now - options.times.doubt_ms ? [id] : []));
  }

  /** A row has it, or may still turn out to. */
  #isKnown(provider: string, { provider_id, runner_id, batch_id }: ProviderInstance): boolean {
    const row = this.#tables.runnerAt(provider, provider_id);
    // Ended ones are terminated by who asks for what is leaving.
    if (row !== undefined && this.#tables.runners.has(row.id))
      return row.state !== 'terminated' || row.gone_at === null;
    const awaits = (each: RunnerRow): boolean => each.state === 'created' && each.provider_id === null;
    if (runner_id !== null) {
      const meant = this.#tables.runners.get(runner_id);
      return meant !== undefined && awaits(meant);
    }
    const batch = batch_id === null ? undefined : this.#tables.batches.get(batch_id);
    return batch !== undefined && [...batch.runners].some(awaits);
  }

  /** Missing at two looks; what works and speaks is there, whatever its provider says. */
  #findVanished(provider: string, there: ReadonlySet<string>): RunnerRow[] {
    const { now, options } = this.#tables;
    const { fresh_ms, doubt_ms } = options.times;
    const vanished: RunnerRow[] = [];
    for (const row of this.#tables.live) {
      if (row.provider !== provider || row.provider_id === null) continue;
      const isWorking = isHeld(row.state) && row.seen_at !== null && row.seen_at > now - fresh_ms;
      if (there.has(row.provider_id)) row.missing_at = null;
      else if (row.missing_at === null) row.missing_at = now;
      else if (!isWorking && row.missing_at <= now - doubt_ms) vanished.push(row);
    }
    return vanished;
  }

  #live(matches: (row: RunnerRow) => boolean): RunnerRow[] {
    return [...this.#tables.live].filter(matches);
  }
}
