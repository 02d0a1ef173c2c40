import type { PoolRequest, Runner } from '../api/pool.ts';
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
  local: 'Runners are idle, but none of them fits.',
  uncertain: 'It is not known whether a runner is idle.',
};

/** What a request waits for, as far as it is known. */
export function waitsFor({
  requirements,
  kept,
  exhaustion,
  reason,
}: Pick<PoolRequest, 'requirements' | 'kept' | 'exhaustion' | 'reason'>): string {
  if (kept > 0) return `It lost runners, and keeps ${kept} of ${requirements.count}.`;
  const looked = exhaustion === null ? 'It was just asked for.' : (EXHAUSTION[exhaustion] ?? exhaustion);
  return reason === null ? looked : `${looked} The last launch failed: ${reason}`;
}

/** What a runner is at, or what will become of it. */
export function doingOf({ state, reason, until }: Runner, now: number): string {
  if (reason !== null) return reason;
  const end = parseTime(until);
  const left = end === null ? null : formatDuration(Math.max(0, end - now));
  if (state === 'claimed') return 'was given work, and has not begun';
  if (state === 'running') return 'at work';
  if (left === null) return '';
  return state === 'idle' ? `ends in ${left} unless it is claimed` : `given up in ${left} unless it is heard of`;
}
