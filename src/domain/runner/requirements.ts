import type { UsageClass } from './resource-class.ts';

/** What a task, or anybody else, asks of the runners that it is to have. */
export interface Requirements {
  readonly resource_class: string;
  /** Spot runners may be taken away at any moment. */
  readonly usage_class: UsageClass;
  /** Patterns of instance types, `*` for any text, letters of either case; empty: any. Sorted, lower case, no duplicates. */
  readonly allowed_instance_types: readonly string[];
  /** Least virtual processors; null: what the class has. */
  readonly cpu: number | null;
  /** Least memory, MiB; null: what the class has. */
  readonly memory_mib: number | null;
}

/** Requirements with how many runners are wanted together: all of them or none. */
export interface Demand extends Requirements {
  /** 1 to `RUNNERS_MAX`. */
  readonly count: number;
}

/** Most runners that one request may ask for. */
export const RUNNERS_MAX = 1_000;

/** Most processors and memory, MiB, that a runner may be said to have. */
export const CPU_MAX = 4_096;
export const MEMORY_MIB_MAX = 67_108_864;

/** Most patterns that one request may name. */
export const PATTERNS_MAX = 50;

/** Equal for requirements that the same runners satisfy by the same words; independent of letter case and order. */
export function shapeKeyOf(requirements: Requirements): string {
  const { resource_class, usage_class, allowed_instance_types, cpu, memory_mib } = requirements;
  return JSON.stringify([resource_class, usage_class, cpu, memory_mib, patternsOf(allowed_instance_types)]);
}

/** In the form that `Requirements` holds. */
export function patternsOf(patterns: readonly string[]): string[] {
  return [...new Set(patterns.map((pattern) => pattern.toLowerCase()))].sort();
}
