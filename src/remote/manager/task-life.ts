import type { RemoteCode } from '../protocol/codes.ts';
import type { AcceptedRecord, JournalRecord, Location } from './journal/records.ts';

/** A task as far as its records tell. */
export interface TaskLife {
  readonly accepted: AcceptedRecord;
  readonly args: Location;
  /** How often a process was about to be given it. */
  readonly starts: number;
  /** Whether a run that was cut short may be repeated, as its event said at the last start. */
  readonly mayRepeat: boolean;
  readonly cancelRequested: boolean;
  /** The first one that was written; null while there is none. */
  readonly outcome: { readonly code: RemoteCode | null; readonly at_ms: number; readonly payload: Location } | null;
  /** When its caller said that it has the outcome, milliseconds since the epoch; null before. */
  readonly acknowledgedAtMs: number | null;
}

/**
 * The task after one more record about it; undefined where there is none of that id (any more). Records may be read that
 * were written again already: what is known of an outcome is never lost to them.
 */
export function nextLife(life: TaskLife | undefined, record: JournalRecord, location: Location): TaskLife | undefined {
  if (record.type === 'accepted' || record.type === 'carried') {
    const starts = Math.max(record.starts ?? 0, life?.starts ?? 0);
    const cancelRequested = record.cancel === true || life?.cancelRequested === true;
    const mayRepeat = record.repeat ?? life?.mayRepeat ?? false;
    const { outcome = null, acknowledgedAtMs = null } = life ?? {};
    return { accepted: record, args: location, starts, mayRepeat, cancelRequested, outcome, acknowledgedAtMs };
  }
  if (life === undefined || record.type === 'removed') return undefined;
  switch (record.type) {
    case 'started':
      return life.outcome === null ? { ...life, starts: life.starts + 1, mayRepeat: record.repeat === true } : life;
    case 'returned':
      return { ...life, starts: Math.max(0, life.starts - 1) };
    case 'cancel':
      return { ...life, cancelRequested: true };
    case 'ended': {
      const outcome = { code: record.code, at_ms: record.at_ms, payload: location };
      // Of two outcomes the first one counts: its caller may have it. One that is written again only moves.
      if (life.outcome !== null && life.outcome.at_ms !== record.at_ms) return life;
      return { ...life, outcome };
    }
    case 'acknowledged':
      return { ...life, acknowledgedAtMs: life.acknowledgedAtMs ?? record.at_ms };
  }
}

/** The task where a record about it may be missing: that it was started, which none may be a second time. */
export function distrust(life: TaskLife): TaskLife {
  return life.outcome === null && life.starts === 0 ? { ...life, starts: 1, mayRepeat: false } : life;
}

/** What becomes of a task after a restart. */
export type Recovered = 'queue' | 'lost' | 'canceled' | 'over' | 'forgotten';

/** Starts of a task whose runs may be repeated, after which it is not started again. */
export const STARTS_MAX = 3;

export interface RecoveryTimes {
  readonly nowMs: number;
  /** How long outcomes are kept. */
  readonly outcomeTtlMs: number;
  /** How long keys of acknowledged tasks are kept. */
  readonly acknowledgedTtlMs: number;
}

export function recover(life: TaskLife, times: RecoveryTimes): Recovered {
  const { nowMs, outcomeTtlMs, acknowledgedTtlMs } = times;
  if (life.acknowledgedAtMs !== null) {
    const isKept = life.accepted.key !== undefined && life.acknowledgedAtMs + acknowledgedTtlMs > nowMs;
    return isKept ? 'over' : 'forgotten';
  }
  if (life.outcome !== null) return life.outcome.at_ms + outcomeTtlMs > nowMs ? 'over' : 'forgotten';
  if (life.cancelRequested) return 'canceled';
  if (life.starts === 0 || (life.mayRepeat && life.starts < STARTS_MAX)) return 'queue';
  return 'lost';
}
