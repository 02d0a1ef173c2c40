import type { JobDetail } from '@heddle/client';
import { openBackfill } from '../api/jobs.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { Button } from '../ui/button.tsx';
import { OutcomeBar } from '../ui/state.tsx';

/** How far the backfill has come that the address names by the number of its runs. */
export function BackfillProgress({ job }: { job: JobDetail }) {
  const [{ backfill }, change] = useFilters(['backfill']);
  const total = /^\d{1,4}$/.test(backfill) ? Number(backfill) : 0;
  const { data } = useLive(['job', job.id, 'backfill'], (signal) => openBackfill(job.id, signal), {
    enabled: total > 0,
  });
  if (total === 0 || data === undefined) return null;
  const { waiting, running } = data;
  const ended = Math.max(0, total - waiting - running);
  const isDone = waiting + running === 0;
  return (
    <div className="backfill-progress" role="status" aria-label="Backfill">
      <strong>
        {isDone
          ? `Backfill complete: ${total.toLocaleString()} runs ended`
          : `Backfill: ${ended.toLocaleString()} of ${total.toLocaleString()} runs ended`}
      </strong>
      <OutcomeBar label="Runs" tally={{ succeeded: ended, running, waiting }} />
      <span className="quiet">
        {!isDone && `${running.toLocaleString()} running, ${waiting.toLocaleString()} waiting. `}
        {isDone && 'The history has their outcomes.'}
      </span>
      <Button look="plain" onClick={() => change({ backfill: '' })}>
        Hide
      </Button>
    </div>
  );
}
