import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage, RunnerType } from './runner.ts';

/** `pick`: satisfies the requirements. `requeue`: valid, but does not fit. `discard`: invalid or expired. */
export type Verdict =
  { readonly verdict: 'pick' } | { readonly verdict: 'requeue' | 'discard'; readonly reason: string };

const PICK: Verdict = { verdict: 'pick' };

/**
 * Decides what to do with the message of an idle runner.
 *
 * @param now milliseconds since the epoch
 */
export function classify(
  message: RunnerMessage,
  requirements: Requirements,
  resourceClass: ResourceClass | undefined,
  now: number,
): Verdict {
  const fault = faultOf(message, resourceClass);
  if (fault !== null) return { verdict: 'discard', reason: fault };
  if (message.threshold <= now) return { verdict: 'discard', reason: 'the runner has expired' };
  const mismatch = mismatchOf(message, requirements);
  return mismatch === null ? PICK : { verdict: 'requeue', reason: mismatch };
}

/** Returns why a runner of this type does not match its class; null if it does. */
export function faultOf(type: RunnerType, resourceClass: ResourceClass | undefined): string | null {
  if (resourceClass === undefined) return `the resource class ${type.resource_class} is not known`;
  const { name, cpu, memory_mib } = resourceClass;
  if (type.cpu !== cpu) return `it has ${type.cpu} processors, but the class ${name} has ${cpu}`;
  if (type.memory_mib < memory_mib)
    return `it has ${type.memory_mib} MiB of memory, but the class ${name} has at least ${memory_mib}`;
  return null;
}

/** Returns why a runner does not satisfy the requirements; null if it does. */
export function mismatchOf(type: RunnerType, requirements: Requirements): string | null {
  const { resource_class, usage_class, allowed_instance_types, cpu, memory_mib } = requirements;
  if (type.resource_class !== resource_class) return `its resource class is ${type.resource_class}`;
  if (type.usage_class !== usage_class) return `its usage class is ${type.usage_class}`;
  if (!allowsType(allowed_instance_types, type.instance_type)) return `its type ${type.instance_type} is not allowed`;
  if (cpu !== null && type.cpu < cpu) return `it has ${type.cpu} processors`;
  if (memory_mib !== null && type.memory_mib < memory_mib) return `it has ${type.memory_mib} MiB of memory`;
  return null;
}

/** Returns whether a type matches one of the patterns; an empty list allows every type. */
export function allowsType(patterns: readonly string[], instanceType: string): boolean {
  const type = instanceType.toLowerCase();
  return patterns.length === 0 || patterns.some((pattern) => matches(pattern.toLowerCase(), type));
}

/** Runs in time proportional to the product of the lengths, for any pattern. */
function matches(pattern: string, text: string): boolean {
  let at = 0;
  let star = -1;
  let resumeAt = 0;
  let next = 0;
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next++;
      resumeAt = at;
    } else if (next < pattern.length && pattern[next] === text[at]) {
      next += 1;
      at += 1;
    } else if (star >= 0) {
      next = star + 1;
      at = ++resumeAt;
    } else return false;
  }
  while (pattern[next] === '*') next += 1;
  return next === pattern.length;
}
