import type { Finding } from '@heddle/client';
import type { FindingState, TriageState } from '../api/findings.ts';

export const STATE_LABEL: Record<FindingState, string> = { new: 'New', known: 'Known', gone: 'Gone' };

const STATE_MEANING: Record<FindingState, string> = {
  new: 'First found by the latest run',
  known: 'Also found by earlier runs',
  gone: 'Not found by a complete run',
};

/** Uses the colors of tasks, by how much attention a finding needs. */
const STATE_MARK: Record<FindingState, string> = { new: 'failure', known: 'paused', gone: 'success' };

export const TRIAGE_LABEL: Record<TriageState, string> = {
  open: 'Open',
  ignored: 'Ignored',
  false_positive: 'False positive',
};

export function FindingChip({ finding }: { finding: Finding }) {
  const { state, triage } = finding;
  return (
    <span className="status-chip" title={STATE_MEANING[state]}>
      <span className={`mark mark-${STATE_MARK[state]}`} aria-hidden="true" />
      {STATE_LABEL[state]}
      {triage.state !== 'open' && <span className="paused-mark">{TRIAGE_LABEL[triage.state].toLowerCase()}</span>}
    </span>
  );
}
