import type { JobDetail } from '@heddle/client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { planBackfill, startBackfill } from '../api/jobs.ts';
import type { BackfillRange } from '../api/jobs.ts';
import { faultsOf } from '../data/faults.ts';
import { useFilters } from '../data/filters.ts';
import { refreshAll } from '../data/query-client.ts';
import { useSettled } from '../data/settled.ts';
import { formatMoment } from '../times.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FormField } from '../ui/form-field.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { notify } from '../ui/toast.tsx';

const DAY_MS = 86_400_000;
const FIELDS = ['since', 'until'] as const;

interface BackfillDialogProps {
  job: JobDetail;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Starts runs of a range of the past: shows first how many there would be. */
export function BackfillDialog({ job, open, onOpenChange }: BackfillDialogProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={`Backfill ${job.name}?`}>
      <BackfillForm job={job} onDone={() => onOpenChange(false)} />
    </Dialog>
  );
}

function BackfillForm({ job, onDone }: { job: JobDetail; onDone: () => void }) {
  const [range, setRange] = useState(() => ({ since: localText(Date.now() - DAY_MS), until: localText(Date.now()) }));
  const wanted = useSettled(range);
  const plan = useQuery({
    queryKey: ['backfill', job.id, wanted],
    queryFn: () => planBackfill(job.id, rangeOf(wanted)!),
    enabled: rangeOf(wanted) !== null,
    retry: false,
  });
  const [, change] = useFilters(['backfill']);
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  // A repeat after a lost answer starts nothing twice; another range is another backfill.
  const key = useRef('');
  useEffect(() => {
    key.current = newKey();
    setFailure(null);
  }, [range]);
  const start = async (): Promise<void> => {
    setBusy(true);
    try {
      const started = await startBackfill(job.id, rangeOf(range)!, key.current);
      notify(`${started.toLocaleString()} ${started === 1 ? 'run' : 'runs'} started`, job.name);
      change({ backfill: String(started) });
      onDone();
      await refreshAll();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const { byField, other } = faultsOf(failure ?? plan.error, FIELDS);
  const count = wanted === range && plan.error === null ? plan.data?.length : undefined;
  return (
    <>
      <p className="dialog-body">
        One run starts for each occurrence in the range, at most 1,000, whether or not it ran before.{' '}
        {job.overlap === 'allow' ? 'All start at once.' : 'They wait for one another, oldest first.'}
      </p>
      <div className="form-row">
        {FIELDS.map((name) => (
          <FormField key={name} label={name === 'since' ? 'From' : 'Until'} faults={byField[name]}>
            {(control) => (
              <input
                {...control}
                type="datetime-local"
                className="input"
                value={range[name]}
                onChange={(event) => setRange({ ...range, [name]: event.target.value })}
              />
            )}
          </FormField>
        ))}
      </div>
      <p role="status" className="backfill-plan">
        {plan.error === null && (
          <PlanText occurrences={count === undefined ? null : plan.data!} isComplete={rangeOf(range) !== null} />
        )}
      </p>
      {other !== null && <ProblemBox error={other} />}
      <div className="dialog-actions">
        <Button onClick={onDone}>Cancel</Button>
        <Button look="primary" disabled={isBusy || count === undefined || count === 0} onClick={() => void start()}>
          {count === undefined || count === 0
            ? 'Start runs'
            : `Start ${count.toLocaleString()} ${count === 1 ? 'run' : 'runs'}`}
        </Button>
      </div>
    </>
  );
}

function PlanText({ occurrences, isComplete }: { occurrences: readonly string[] | null; isComplete: boolean }) {
  if (!isComplete) return 'Enter both ends of the range.';
  if (occurrences === null) return '…';
  const [first] = occurrences;
  if (first === undefined) return 'The schedule has no occurrence in this range.';
  const moments = [first, occurrences.at(-1)!].map((at) => formatMoment(Date.parse(at)));
  if (occurrences.length === 1) return `1 occurrence: ${moments[0]!}.`;
  return `${occurrences.length.toLocaleString()} occurrences, from ${moments[0]!} to ${moments[1]!}.`;
}

/** What the inputs hold: local time, to the minute. */
function localText(ms: number): string {
  const offset = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offset).toISOString().slice(0, 16);
}

/** Null while one of the ends is missing. */
function rangeOf({ since, until }: BackfillRange): BackfillRange | null {
  if (since === '' || until === '') return null;
  return { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
}

/** Pages served without TLS have no `crypto.randomUUID`. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
