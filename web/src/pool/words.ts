import type { PoolRequest, Runner } from '@heddle/client';
import { formatDuration, parseTime } from '../times.ts';

/** `2 × large, spot, m7i.* or m7a.*`. */
export function wantsOf({ requirements }: Pick<PoolRequest, 'requirements'>): string {
  const { count, resource_class, usage_class, allowed_instance_types, cpu, memory_mib } = requirements;
  const parts = [`${count.toLocaleString()} × ${resource_class}`, usage_class];
  if (allowed_instance_types.length > 0) parts.push(allowed_instance_types.join(' or '));
  if (cpu !== null) parts.push(`${cpu} processors`);
  if (memory_mib !== null) parts.push(`${memory_mib.toLocaleString()} MiB`);
  return parts.join(', ');
}

const EXHAUSTION: Readonly<Record<string, string>> = {
  global: 'No runner of the class is idle.',
  local: 'The idle runners do not fit or are too few.',
  uncertain: 'Not all idle runners could be checked yet.',
};

/**
 * Describes why a request waits.
 * @param launching runners of its class that are being launched
 */
export function waitsFor(
  request: Pick<PoolRequest, 'requirements' | 'kept' | 'exhaustion' | 'reason'>,
  launching: number,
): string {
  const { requirements, kept, exhaustion, reason } = request;
  if (kept > 0) return `It lost runners, keeps ${kept} of ${requirements.count}, and waits for replacements.`;
  const state = exhaustion === null ? 'Just created.' : (EXHAUSTION[exhaustion] ?? exhaustion);
  if (reason !== null) return `${state} The last launch failed: ${reason}`;
  if (launching === 0) return `${state} None is being launched.`;
  return `${state} ${launching.toLocaleString()} ${launching === 1 ? 'is' : 'are'} being launched.`;
}

/** Describes what a runner does or waits for, and what happens if that does not come; one that has ended, why. */
export function doingOf({ state, reason, until, draining }: Runner, now: number): string {
  if (reason !== null) return reason;
  const end = parseTime(until);
  const left = end === null ? null : formatDuration(Math.max(0, end - now));
  switch (state) {
    case 'created':
      return left === null
        ? 'waits for its first report'
        : `waits for its first report; marked lost in ${left} without it`;
    case 'idle':
      return left === null ? 'waits for a task' : `waits for a task; ends in ${left} unless it is claimed`;
    case 'claimed':
      return 'waits for its agent to confirm the start';
    case 'running':
      return draining ? 'works on its last task' : 'works';
    case 'terminated':
      return 'ended';
  }
}

/** The name of a task; the beginning of its id once it is deleted. */
export function taskLabel(id: string, name: string | null): string {
  return name ?? `task ${id.slice(0, 13)}`;
}
