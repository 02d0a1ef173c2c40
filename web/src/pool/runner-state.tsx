import type { Runner } from '@heddle/client';
import type { RunnerState } from '../api/pool.ts';
import { StateGlyph } from '../ui/glyphs.tsx';
import type { State } from '../ui/state.ts';

export const STATE_LABEL: Readonly<Record<RunnerState, string>> = {
  created: 'Launching',
  idle: 'Idle',
  claimed: 'Claimed',
  running: 'Running',
  terminated: 'Ended',
};

const MEANING: Readonly<Record<RunnerState, string>> = {
  created: 'being started; it has not reported to a server yet',
  idle: 'ready: the next task that fits gets it at once',
  claimed: 'assigned to a task, which it starts within seconds',
  running: 'works on its task, or is held by a user',
  terminated: 'ended; kept here for a while with the reason',
};

const GLYPH: Readonly<Record<RunnerState, State>> = {
  created: 'pending',
  idle: 'succeeded',
  claimed: 'claimed',
  running: 'running',
  terminated: 'canceled',
};

export function RunnerBadge({ runner: { state, draining } }: { runner: Pick<Runner, 'state' | 'draining'> }) {
  return (
    <span className="state-badge" title={MEANING[state]}>
      <StateGlyph state={GLYPH[state]} />
      {STATE_LABEL[state]}
      {draining && state !== 'terminated' && (
        <span className="quiet" title="Takes no further task, and ends when it is free">
          draining
        </span>
      )}
    </span>
  );
}

/** What each state means, for those who see it the first time. */
export function StateLegend() {
  return (
    <dl className="pool-legend">
      {(Object.keys(STATE_LABEL) as RunnerState[]).map((state) => (
        <div key={state}>
          <dt>
            <StateGlyph state={GLYPH[state]} /> {STATE_LABEL[state]}
          </dt>
          <dd>{MEANING[state]}</dd>
        </div>
      ))}
    </dl>
  );
}
