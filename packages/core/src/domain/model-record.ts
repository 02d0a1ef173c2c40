import { canonicalJson, type JsonObject, type JsonValue } from '@heddle/base/json';

/**
 * State of a record: `new` in the latest run that saw it, `changed` if that run saw other data than the one before,
 * `known` if it saw the same, `gone` since a complete run that did not see it.
 */
export const MODEL_STATES = ['new', 'changed', 'known', 'gone'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** Models that recon fills. Users' own models may have any name that matches `MODEL_NAME_PATTERN`. */
export const RECON_MODELS = ['host', 'service', 'name', 'tls', 'certificate'] as const;
export type ReconModel = (typeof RECON_MODELS)[number];

export const MODEL_NAME_PATTERN = '^[A-Za-z][A-Za-z0-9._-]{0,99}$';
export const MODEL_NAME_MEANING = '1 to 100 of the characters A-Z a-z 0-9 . _ -, the first a letter';
export const MODEL_KEY_CHARACTERS_MAX = 500;
export const MODEL_TARGET_CHARACTERS_MAX = 200;
export const MODEL_SEARCH_CHARACTERS_MAX = 200;
/** Maximum size of a record's data as JSON. */
export const MODEL_DATA_BYTES_MAX = 64 * 1024;

/** Record as one run saw it. */
export interface ReportedModel {
  /** Type of the record. */
  model: string;
  /** Identifies the record within its model: an address, a name. */
  key: string;
  data: JsonObject;
}

/** One member of a record's data, before and after; null if it was absent. Long values are cut to strings. */
export interface ModelChange {
  field: string;
  old: JsonValue;
  new: JsonValue;
}

/** Record of one target across all its runs. Times are milliseconds since the epoch. */
export interface TrackedModel extends ReportedModel {
  id: string;
  target: string;
  state: ModelState;
  /** Ids of runs that saw it. */
  runs: number;
  first_seen: number;
  last_seen: number;
  /** Start of the latest run in which it was new, changed or gone. */
  changed_at: number;
  /** Null unless it is gone. */
  gone_at: number | null;
  /** Numbers of runs. */
  first_run: number;
  last_run: number;
  changed_run: number;
  /** Differences in `changed_run`; empty if it was new then, or is gone. */
  changes: readonly ModelChange[];
}

export interface ModelCounts {
  new: number;
  changed: number;
  known: number;
  gone: number;
}

/** Result of one run for its target. */
export interface ModelRun extends ModelCounts {
  /** Task that merged it. */
  id: string;
  target: string;
  /** Counts from 1, per target. */
  number: number;
  started_at: number;
  /** Null while it is being merged. */
  ended_at: number | null;
  /** Whether it covered everything it was meant to cover: only then can records be gone. */
  complete: boolean;
  by_model: readonly ({ model: string } & ModelCounts)[];
}

/** Everything kept under one name. */
export interface ModelTarget {
  target: string;
  runs: number;
  last_run: ModelRun | null;
}

export interface ModelFilter {
  target?: string;
  model?: string;
  states?: readonly ModelState[];
  key_prefix?: string;
  /** Substring of the key, or of any string or number in the data, case-insensitive. */
  search?: string;
  /** New, changed or gone in a run that began at or after this time, milliseconds since the epoch. */
  changed_since?: number;
}

const CHANGES_MAX = 50;
const VALUE_CHARACTERS_MAX = 1000;

/** Returns the differing members, sorted by name; at most 50. */
export function changesBetween(old: JsonObject | null, data: JsonObject): ModelChange[] {
  if (old === null) return [];
  const fields = [...new Set([...Object.keys(old), ...Object.keys(data)])].sort();
  const changes: ModelChange[] = [];
  for (const field of fields) {
    if (changes.length >= CHANGES_MAX) break;
    const [before, after] = [old[field] ?? null, data[field] ?? null];
    if (canonicalJson(before) === canonicalJson(after)) continue;
    changes.push({ field, old: shortened(before), new: shortened(after) });
  }
  return changes;
}

function shortened(value: JsonValue): JsonValue {
  const text = JSON.stringify(value);
  return text.length <= VALUE_CHARACTERS_MAX ? value : `${text.slice(0, VALUE_CHARACTERS_MAX - 1).toWellFormed()}…`;
}
