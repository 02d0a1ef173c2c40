import type { JobRun } from '@heddle/client';
import { Link } from 'wouter';
import { StateGlyph } from '../ui/glyphs.tsx';
import { StateBadge } from '../ui/state.tsx';
import { STATE, stateOf } from '../ui/state.ts';
import type { State } from '../ui/state.ts';
import { formatMoment, parseTime } from '../times.ts';

export type RunState = JobRun['state'];

/** A run of a job has two more states than its workflow. */
const OWN: Readonly<Partial<Record<RunState, { state: State; label: string }>>> = {
  Queued: { state: 'pending', label: 'Queued' },
  Skipped: { state: 'skipped', label: 'Skipped' },
};

export function lookOf(word: RunState): { state: State; label: string } {
  const state = stateOf(word);
  return OWN[word] ?? { state, label: STATE[state].label };
}

/** Whether someone should look at it: it failed, or did not run. */
export function isBad(word: RunState): boolean {
  return word === 'Skipped' || STATE[stateOf(word)].bad;
}

export function RunBadge({ state: word }: { state: RunState }) {
  const { state, label } = lookOf(word);
  return <StateBadge state={state} label={label} />;
}

export const TRIGGER_LABEL: Readonly<Record<JobRun['trigger'], string>> = {
  schedule: 'Schedule',
  manual: 'Run now',
  backfill: 'Backfill',
};

function titleOf({ state, scheduled_for, reason }: JobRun): string {
  const at = parseTime(scheduled_for);
  const parts = [lookOf(state).label, at === null ? null : formatMoment(at), reason];
  return parts.filter((part) => part !== null).join(' · ');
}

/** The last runs as a row of glyphs, the latest at the right, each a link to its run. */
export function RunStrip({ runs }: { runs: readonly JobRun[] }) {
  const words = runs.map(({ state }) => lookOf(state).label).join(', ');
  return (
    <span className="run-strip" role="group" aria-label={`The last ${runs.length} runs, latest first: ${words}`}>
      {runs.toReversed().map((run) => {
        const glyph = <StateGlyph state={lookOf(run.state).state} size={14} />;
        const title = titleOf(run);
        return run.workflow_id === null ? (
          <span key={run.id} title={title}>
            {glyph}
          </span>
        ) : (
          <Link key={run.id} href={`/runs/${run.workflow_id}`} title={title} aria-label={title} tabIndex={-1}>
            {glyph}
          </Link>
        );
      })}
    </span>
  );
}
