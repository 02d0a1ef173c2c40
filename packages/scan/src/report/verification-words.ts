import type { Verification } from '@heddle/base/vocabulary/verdict';
import type { VerdictCounts } from './report.ts';
import { counted } from './figures.ts';

/** `active: GitHub accepted it (HTTP 200); identity octocat; permissions gist, repo`. */
export function verificationText({ verdict, reason, identity, permissions }: Verification): string {
  const parts = [
    `${verdict}: ${reason}`,
    ...(identity === null ? [] : [`identity ${identity}`]),
    ...(permissions.length === 0 ? [] : [`permissions ${permissions.join(', ')}`]),
  ];
  return parts.join('; ');
}

/** `2 active, 1 inactive, 3 unknown`. */
export function verdictCountsText({ active, inactive, unknown, not_shown }: VerdictCounts): string {
  const hidden = not_shown === 0 ? '' : `; not shown with --only-active: ${counted(not_shown, 'finding')}`;
  return `${active} active, ${inactive} inactive, ${unknown} unknown${hidden}`;
}
