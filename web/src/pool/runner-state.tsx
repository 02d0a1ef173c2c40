import type { Runner } from '@heddle/client';
import type { CountedState, RunnerState } from '../api/pool.ts';

export const STATE_LABEL: Record<RunnerState, string> = {
  created: 'Launching',
  idle: 'Idle',
  claimed: 'Claimed',
  running: 'Running',
  terminated: 'Ended',
};

const MEANING: Record<RunnerState, string> = {
  created: 'Launching; not registered yet',
  idle: 'Ready for a request',
  claimed: 'Claimed for a request; not started yet',
  running: 'Working on a request',
  terminated: 'Ended',
};

/** Status colours, shared with tasks. */
const MARK: Record<RunnerState, string> = {
  created: 'paused',
  idle: 'success',
  claimed: 'claimed',
  running: 'running',
  terminated: 'canceled',
};

/** The same colours, for the areas of the chart. */
export const STATE_COLOUR: Record<CountedState, string> = {
  created: 'var(--status-paused)',
  idle: 'var(--status-success)',
  claimed: 'var(--status-claimed)',
  running: 'var(--status-running)',
};

export function RunnerChip({ runner: { state, draining } }: { runner: Pick<Runner, 'state' | 'draining'> }) {
  return (
    <span className="status-chip" title={MEANING[state]}>
      <span className={`mark mark-${MARK[state]}`} aria-hidden="true" />
      {STATE_LABEL[state]}
      {draining && state !== 'terminated' && (
        <span className="paused-mark" title="Accepts no more claims and ends when it is free">
          draining
        </span>
      )}
    </span>
  );
}
