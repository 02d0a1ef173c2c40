import type { UsageClass } from './resource-class.ts';

/** Requirements that a runner must satisfy. */
export interface Requirements {
  readonly resource_class: string;
  /** Spot runners may be interrupted at any time. */
  readonly usage_class: UsageClass;
  /** Patterns of instance types with the wildcard `*`; empty: any. Sorted, lower case, no duplicates. */
  readonly allowed_instance_types: readonly string[];
  /** Minimum number of virtual processors; null: that of the class. */
  readonly cpu: number | null;
  /** Minimum memory, MiB; null: that of the class. */
  readonly memory_mib: number | null;
}

/** Requirements with the number of runners, which are granted all or none. */
export interface Demand extends Requirements {
  /** 1 to `RUNNERS_MAX`. */
  readonly count: number;
}

/** Maximum number of runners per request. */
export const RUNNERS_MAX = 1_000;

/** Maximum processors and memory (MiB) of a runner. */
export const CPU_MAX = 4_096;
export const MEMORY_MIB_MAX = 67_108_864;

/** Maximum number of patterns per request. */
export const PATTERNS_MAX = 50;

/** Returns a key that is equal for equal requirements, regardless of letter case and order of the patterns. */
export function shapeKeyOf(requirements: Requirements): string {
  const { resource_class, usage_class, allowed_instance_types, cpu, memory_mib } = requirements;
  return JSON.stringify([resource_class, usage_class, cpu, memory_mib, patternsOf(allowed_instance_types)]);
}

/** Normalizes patterns to the form used in `Requirements`. */
export function patternsOf(patterns: readonly string[]): string[] {
  return [...new Set(patterns.map((pattern) => pattern.toLowerCase()))].sort();
}
