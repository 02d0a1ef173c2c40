import type { CountedState, Runner, RunnerState } from '../api/pool.ts';

export const STATE_LABEL: Record<RunnerState, string> = {
  created: 'Launching',
  idle: 'Idle',
  claimed: 'Claimed',
  running: 'Running',
  terminated: 'Ended',
};

const MEANING: Record<RunnerState, string> = {
  created: 'It was asked for, and has not been heard of yet',
  idle: 'It waits for work',
  claimed: 'It was given work, and has not begun',
  running: 'It is at work',
  terminated: 'It is over',
};

/** The colours of tasks, by what a runner does. */
const MARK: Record<RunnerState, string> = {
  created: 'paused',
  idle: 'success',
  claimed: 'claimed',
  running: 'running',
  terminated: 'canceled',
};

/** The same colours, for areas of a chart. */
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
        <span className="paused-mark" title="It takes nothing more and ends when it is free">
          draining
        </span>
      )}
    </span>
  );
}
