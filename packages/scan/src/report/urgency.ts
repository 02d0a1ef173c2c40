import type { Confidence } from '@heddle/base/vocabulary/confidence';
import type { Verdict } from '@heddle/base/vocabulary/verdict';
import type { Finding } from '../result.ts';

/** What to do first: verdicts, where there are any, count more than the confidence. */
export const URGENCIES = ['active', 'high', 'medium', 'low', 'inactive'] as const satisfies (Confidence | Verdict)[];
export type Urgency = (typeof URGENCIES)[number];

export function urgencyOf({ verification, confidence }: Finding): Urgency {
  return verification === undefined || verification.verdict === 'unknown' ? confidence : verification.verdict;
}
