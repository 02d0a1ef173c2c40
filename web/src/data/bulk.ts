import type { BulkResult } from '@heddle/client';
import { notify } from '../ui/toast.tsx';
import { refreshAll } from './query-client.ts';

const REASONS_SHOWN = 3;

/**
 * Says what a bulk operation changed, and what it did not and why.
 *
 * @param noun of one of them: `task`
 */
export async function reportBulk(noun: string, done: string, { changed, unchanged }: BulkResult): Promise<void> {
  const asked = changed.length + unchanged.length;
  const title =
    unchanged.length === 0
      ? `${numbered(changed.length, noun)} ${done}`
      : `${changed.length.toLocaleString()} of ${numbered(asked, noun)} ${done}`;
  notify(title, reasonsOf(unchanged));
  await refreshAll();
}

/** Each reason once, with how many it concerns; the most frequent ones. */
function reasonsOf(unchanged: BulkResult['unchanged']): string | undefined {
  if (unchanged.length === 0) return undefined;
  const counts = new Map<string, number>();
  for (const { reason } of unchanged) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].sort((a, b) => b[1] - a[1]);
  const shown = reasons.slice(0, REASONS_SHOWN).map(([reason, n]) => `${n.toLocaleString()} unchanged: ${reason}.`);
  const more = reasons.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more reasons.`] : [])].join(' ');
}

export function numbered(n: number, noun: string): string {
  return `${n.toLocaleString()} ${noun}${n === 1 ? '' : 's'}`;
}
