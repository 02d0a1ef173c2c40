import { formatMoment, parseTime } from '../times.ts';
import type { JobRun } from '@heddle/client';
import { STATE_CLASS, STATE_LABEL, stateFromWire } from '../workflows/node-state.ts';
import type { NodeState } from '../workflows/node-state.ts';
import { StateMark } from '../workflows/state-chip.tsx';

/** States of a run in addition to those of its workflow. */
const OWN: Record<string, { state: NodeState; label: string }> = {
  Queued: { state: 'Pending', label: 'Queued' },
  Skipped: { state: 'Disabled', label: 'Skipped' },
};

function lookOf(run: JobRun): { state: NodeState; label: string } {
  const state = stateFromWire(run.state);
  return OWN[run.state] ?? { state, label: STATE_LABEL[state] };
}

export function RunChip({ run }: { run: JobRun }) {
  const { state, label } = lookOf(run);
  return (
    <span className="status-chip">
      <StateMark state={state} />
      {label}
    </span>
  );
}

/** The last runs as a row of small marks, the latest at the right. */
export function RunMarks({ runs }: { runs: readonly JobRun[] }) {
  const words = runs.map((run) => lookOf(run).label).join(', ');
  return (
    <span className="run-marks" role="img" aria-label={`The last ${runs.length} runs, latest first: ${words}`}>
      {runs.toReversed().map((run) => {
        const { state, label } = lookOf(run);
        const at = parseTime(run.scheduled_for);
        return (
          <i
            key={run.id}
            className={`bar-${STATE_CLASS[state]}`}
            title={`${label}${at === null ? '' : ` · ${formatMoment(at)}`}`}
          />
        );
      })}
    </span>
  );
}
