import type { Finding } from '@heddle/client';
import type { FindingState, TriageState } from '../api/findings.ts';
import { StateGlyph } from '../ui/glyphs.tsx';
import type { State } from '../ui/state.ts';

export const STATE_LABEL: Readonly<Record<FindingState, string>> = { new: 'New', known: 'Known', gone: 'Gone' };

export const STATE_MEANING: Readonly<Record<FindingState, string>> = {
  new: 'First found by the latest run, or found again after it was gone',
  known: 'Also found by earlier runs',
  gone: 'Not found by a complete run',
};

/** By how much attention a finding needs. */
const GLYPH: Readonly<Record<FindingState, State>> = { new: 'failed', known: 'partial', gone: 'succeeded' };

export const CONFIDENCE_LABEL: Readonly<Record<Finding['confidence'], string>> = {
  low: 'Low',
  medium: 'Medium',
  high: 'High',
};

export type Verdict = NonNullable<Finding['verification']>['verdict'];

export const VERDICT_LABEL: Readonly<Record<Verdict, string>> = {
  active: 'Active',
  inactive: 'Inactive',
  unknown: 'Unknown',
};

const VERDICT_GLYPH: Readonly<Record<Verdict, State>> = { active: 'failed', inactive: 'succeeded', unknown: 'pending' };

/** Whether the provider accepts the secret; nothing if it was not asked. */
export function VerdictBadge({ verification }: Pick<Finding, 'verification'>) {
  if (verification === null) return null;
  const { verdict, reason } = verification;
  return (
    <span className="state-badge" title={reason}>
      <StateGlyph state={VERDICT_GLYPH[verdict]} />
      {VERDICT_LABEL[verdict]}
    </span>
  );
}

export const TRIAGE_LABEL: Readonly<Record<TriageState, string>> = {
  open: 'Open',
  ignored: 'Ignored',
  false_positive: 'False positive',
};

const TRIAGE_GLYPH: Readonly<Record<TriageState, State>> = {
  open: 'pending',
  ignored: 'skipped',
  false_positive: 'canceled',
};

export const TRIAGE_VERB: Readonly<Record<TriageState, string>> = {
  open: 'Reopen',
  ignored: 'Ignore',
  false_positive: 'False positive',
};

export function FindingBadge({ state }: { state: FindingState }) {
  return (
    <span className="state-badge" title={STATE_MEANING[state]}>
      <StateGlyph state={GLYPH[state]} />
      {STATE_LABEL[state]}
    </span>
  );
}

export function TriageBadge({ triage }: { triage: Finding['triage'] }) {
  return (
    <span className="state-badge" title={triage.comment ?? undefined}>
      <StateGlyph state={TRIAGE_GLYPH[triage.state]} />
      {TRIAGE_LABEL[triage.state]}
    </span>
  );
}
