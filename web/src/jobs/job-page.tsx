import { Absent } from '../ui/absent.tsx';
import type { JobDetail } from '@heddle/client';
import { useParams } from 'wouter';
import { jobs } from '../api/jobs.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { Field, Fields } from '../ui/fields.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { BackfillProgress } from './backfill-progress.tsx';
import { JobActions } from './job-actions.tsx';
import { JobForm } from './job-form.tsx';
import { JobHistory } from './job-history.tsx';
import { JobTrouble } from './job-trouble.tsx';
import { CATCH_UP_LABEL, JobBadge, NextRun, OVERLAP_LABEL, ScheduleWords } from './schedule.tsx';
import { ZonedTime } from './zoned-time.tsx';

const NEXT_COUNT = 5;
const LIST = { label: 'Schedules', href: '/schedules' };

/** One job: when it runs next, how its runs ended and why, and what can be done with it. */
export function JobPage() {
  const { job } = useParams<{ job: string }>();
  return <JobView key={job} name={decodeURIComponent(job)} />;
}

function JobView({ name }: { name: string }) {
  const [{ form }] = useFilters(['form']);
  const can = useCan();
  const { data: job, error, dataUpdatedAt } = useLive(['job', name], (signal) => jobs.get(name, signal));
  if (job === undefined) {
    return (
      <Absent noun="job" id={name} list={LIST} error={error} updatedAtMs={dataUpdatedAt}>
        It may have been deleted or renamed.
      </Absent>
    );
  }
  if (form === 'edit' && can('operate')) return <JobForm job={job} />;
  return (
    <Page
      title={job.name}
      crumbs={[LIST]}
      lead={
        <>
          <JobBadge job={job} /> · <ScheduleWords job={job} /> · next run <NextRun job={job} />
        </>
      }
      actions={can('operate') && <JobActions job={job} />}
    >
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      <JobTrouble job={job} />
      <BackfillProgress job={job} />
      <div className="columns columns-side">
        <JobHistory job={job} />
        <div>
          <NextRuns job={job} />
          <Settings job={job} />
        </div>
      </div>
    </Page>
  );
}

function NextRuns({ job }: { job: JobDetail }) {
  const { data = [] } = useLive(
    ['job', job.id, 'next', job.next_run_at],
    (signal) => jobs.next(job.id, NEXT_COUNT, signal),
    { every: false },
  );
  return (
    <Section title="Next runs" testId="next-runs">
      {job.next_run_at === null ? (
        <p className="quiet">
          {job.paused ? 'None while it is paused.' : 'None: the schedule has no further occurrence.'}
        </p>
      ) : (
        <ol className="next-runs">
          {data.map(({ at }) => (
            <li key={at}>
              <ZonedTime at={at} zone={job.time_zone} />
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

function Settings({ job }: { job: JobDetail }) {
  const { cron, time_zone, recurrence, overlap, catch_up, created_at, updated_at, id } = job;
  return (
    <Section title="Settings">
      <Fields>
        <Field label="Schedule">
          <code>{cron}</code> in {time_zone}
        </Field>
        <Field label="Scheduled runs left">{recurrence === null ? 'unlimited' : recurrence.toLocaleString()}</Field>
        <Field label="If a run is open">{OVERLAP_LABEL[overlap]}</Field>
        <Field label="Missed occurrences">{CATCH_UP_LABEL[catch_up]}</Field>
        <Field label="Created">
          <Ago at={created_at} />
        </Field>
        <Field label="Changed">
          <Ago at={updated_at} />
        </Field>
        <Field label="ID">
          <code className="breakable">{id}</code>
        </Field>
      </Fields>
    </Section>
  );
}
