import type { RemoteCode } from '../protocol/codes.ts';
import type { AcceptedRecord, JournalRecord, Location } from './journal/records.ts';

/** State of a task derived from its records. */
export interface TaskLife {
  readonly accepted: AcceptedRecord;
  readonly args: Location;
  /** Number of recorded starts. */
  readonly starts: number;
  /** Whether an interrupted run may be repeated, as of the last start. */
  readonly mayRepeat: boolean;
  readonly cancelRequested: boolean;
  /** The first recorded outcome; null while there is none. */
  readonly outcome: { readonly code: RemoteCode | null; readonly at_ms: number; readonly payload: Location } | null;
  /** Time of acknowledgement, milliseconds since the epoch; null before. */
  readonly acknowledgedAtMs: number | null;
}

/**
 * Applies a record to a task; returns undefined if the task does not exist or is removed. Rewritten records may be read
 * again, and must never lose a known outcome.
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
      // The first outcome counts, because its caller may have it; a rewritten one only changes its location.
      if (life.outcome !== null && life.outcome.at_ms !== record.at_ms) return life;
      return { ...life, outcome };
    }
    case 'acknowledged':
      return { ...life, acknowledgedAtMs: life.acknowledgedAtMs ?? record.at_ms };
  }
}

/** Returns a task's state after possible loss of records: assumes that it was started, so that it cannot run twice. */
export function distrust(life: TaskLife): TaskLife {
  return life.outcome === null && life.starts === 0 ? { ...life, starts: 1, mayRepeat: false } : life;
}

/** Fate of a task after a restart. */
export type Recovered = 'queue' | 'lost' | 'canceled' | 'completed' | 'forgotten';

/** Starts of a repeatable task after which it is not started again. */
const STARTS_MAX = 3;

export interface RecoveryTimes {
  readonly nowMs: number;
  /** Retention of outcomes. */
  readonly outcomeTtlMs: number;
  /** Retention of acknowledged tasks' keys. */
  readonly acknowledgedTtlMs: number;
}

export function recover(life: TaskLife, times: RecoveryTimes): Recovered {
  const { nowMs, outcomeTtlMs, acknowledgedTtlMs } = times;
  if (life.acknowledgedAtMs !== null) {
    const isKept = life.accepted.key !== undefined && life.acknowledgedAtMs + acknowledgedTtlMs > nowMs;
    return isKept ? 'completed' : 'forgotten';
  }
  if (life.outcome !== null) return life.outcome.at_ms + outcomeTtlMs > nowMs ? 'completed' : 'forgotten';
  if (life.cancelRequested) return 'canceled';
  if (life.starts === 0 || (life.mayRepeat && life.starts < STARTS_MAX)) return 'queue';
  return 'lost';
}
