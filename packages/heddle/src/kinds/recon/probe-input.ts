import type { JsonObject } from '@heddle/base/json';
import type { Members } from '@heddle/base/parse/members';
import { RECON_DEFAULTS } from '@heddle/recon/options';
import { createScope, narrowScope } from '@heddle/recon/targets/scope';
import { parseTargets } from '@heddle/recon/targets/target-list';
import type { Slice } from '@heddle/recon/targets/endpoints';
import { objectMember, textsMember } from '../definition/input-schema.ts';
import { readOrFault } from './caller-faults.ts';

const TEXTS_MAX = 200_000;
const TEXT_CHARACTERS_MAX = 4096;
const RESOLVERS_MAX = 100;
const RATE_MAX = 10_000_000;
const RETRIES_MAX = 20;
const TIMEOUT_MS_MAX = 120_000;

/** Settings of every scan besides its targets. */
export interface ProbeSettings {
  /** Entries that narrow the operator's scope. */
  scope: readonly string[];
  exclude: readonly string[];
  /** Packets, queries or connections per second. */
  rate: number;
  host_rate: number;
  retries: number;
  /** Null: the default of the scan type. */
  timeout_ms: number | null;
  /** `ip` or `ip:port`; empty: the system's resolvers. */
  resolvers: readonly string[];
}

export const PROBE_MEMBERS = ['scope', 'exclude', 'rate', 'host_rate', 'retries', 'timeout_ms', 'resolvers'] as const;

export function readProbeSettings(input: Members): ProbeSettings {
  const scope = readTexts(input, 'scope') ?? [];
  readOrFault(input, 'scope', () => narrowScope(createScope(), scope));
  return {
    scope,
    exclude: readTexts(input, 'exclude') ?? [],
    rate: input.number('rate', 0.1, RATE_MAX) ?? RECON_DEFAULTS.rate,
    host_rate: input.number('host_rate', 0.1, RATE_MAX) ?? RECON_DEFAULTS.hostRate,
    retries: input.integer('retries', 0, RETRIES_MAX) ?? RECON_DEFAULTS.retries,
    timeout_ms: input.number('timeout_ms', 1, TIMEOUT_MS_MAX),
    resolvers: textsMember(input, 'resolvers', { max: RESOLVERS_MAX, maxChars: 300 }) ?? [],
  };
}

/** Reads an array of strings; undefined if absent. */
export function readTexts(input: Members, name: string): string[] | undefined {
  return textsMember(input, name, { max: TEXTS_MAX, maxChars: TEXT_CHARACTERS_MAX });
}

/** Reads and validates the member `targets`; each invalid target is a fault. */
export function readTargets(input: Members, exclude: readonly string[]): string[] {
  const targets = readTexts(input, 'targets') ?? [];
  readOrFault(input, 'targets', () => parseTargets(targets, { exclude }));
  return targets;
}

/** Returns the settings for the created tasks, without defaults. */
export function probeMembers(settings: ProbeSettings): JsonObject {
  const { scope, exclude, rate, host_rate, retries, timeout_ms, resolvers } = settings;
  return {
    ...(scope.length === 0 ? {} : { scope: [...scope] }),
    ...(exclude.length === 0 ? {} : { exclude: [...exclude] }),
    rate,
    host_rate,
    retries,
    ...(timeout_ms === null ? {} : { timeout_ms }),
    ...(resolvers.length === 0 ? {} : { resolvers: [...resolvers] }),
  };
}

/** Reads a run of positions; null if absent. */
export function readSlice(input: Members, name: string): Slice | null {
  if (!input.has(name)) return null;
  const slice = objectMember(input, name);
  if (slice === null) return null;
  slice.refuseOthers(['from', 'count']);
  slice.requireAll('from', 'count');
  return {
    from: slice.integer('from', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    count: slice.integer('count', 0, Number.MAX_SAFE_INTEGER) ?? 0,
  };
}

export function readSeed(input: Members): number | null {
  return input.integer('seed', 0, 2 ** 48);
}
