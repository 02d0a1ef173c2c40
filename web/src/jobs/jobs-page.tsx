import type { Job, JobRun } from '@heddle/client';
import { useMemo } from 'react';
import { Link, Redirect } from 'wouter';
import { jobs, recentRuns } from '../api/jobs.ts';
import { jobAddress } from '../data/addresses.ts';
import { useFilters } from '../data/filters.ts';
import { useLive, useLiveList } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { LinkButton } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { CalendarView } from './calendar-view.tsx';
import { JobForm } from './job-form.tsx';
import { RunBadge, RunStrip } from './run-state.tsx';
import { JobBadge, NextRun, ScheduleWords } from './schedule.tsx';

const STATES: Readonly<Record<string, string>> = { '': 'Any state', false: 'Active', true: 'Paused' };

/** Workflows on a schedule: what runs next, how the last runs ended, and the calendar of both. */
export function JobsPage() {
  const [{ view, form, job }, change] = useFilters(['view', 'form', 'job']);
  const can = useCan();
  // Older addresses name the job in the query.
  if (job !== '') return <Redirect to={jobAddress(job)} replace />;
  if (form === 'new' && can('operate')) return <JobForm />;
  return (
    <Page
      title="Schedules"
      lead="Jobs: workflows that start on a schedule."
      actions={
        <>
          <Segments
            label="View"
            options={{ list: 'List', calendar: 'Calendar' }}
            chosen={view === 'calendar' ? 'calendar' : 'list'}
            onChoose={(name) => change({ view: name === 'list' ? '' : name })}
          />
          {can('operate') && (
            <LinkButton href="/schedules?form=new" look="primary">
              New job
            </LinkButton>
          )}
        </>
      }
    >
      {view === 'calendar' ? <CalendarView /> : <JobList />}
    </Page>
  );
}

function JobList() {
  const [{ paused }, change] = useFilters(['paused']);
  const list = useLiveList<Job>(['jobs', paused], (page, signal) => jobs.list(paused, page, signal));
  const recent = useRecentRuns(paused, list.rows ?? []);
  const columns = useMemo(() => columnsOf(recent), [recent]);
  return (
    <>
      <FilterBar>
        <ChoiceFilter label="State" value={paused} options={STATES} onChange={(value) => change({ paused: value })} />
      </FilterBar>
      <ListView
        label="Jobs"
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        href={({ name }) => jobAddress(name)}
        empty={paused === '' ? <NoJobs /> : <Empty title="No matching jobs" />}
      />
    </>
  );
}

type RecentRuns = ReadonlyMap<string, readonly JobRun[]>;
const NO_RUNS: RecentRuns = new Map();

/** The list has the last run of each job; earlier ones are read when one of them changes. */
function useRecentRuns(paused: string, rows: readonly Job[]): RecentRuns {
  const stamp = rows.map(({ last_run }) => `${last_run?.id} ${last_run?.state}`).join();
  const { data } = useLive(['jobs', 'recent', paused, stamp], (signal) => recentRuns(paused, rows.length, signal), {
    every: false,
    enabled: rows.length > 0,
  });
  return data ?? NO_RUNS;
}

function columnsOf(recent: RecentRuns): readonly Column<Job>[] {
  return [
    { header: 'State', cell: (job) => <JobBadge job={job} /> },
    {
      header: 'Job',
      cell: ({ name, paused_reason }) => (
        <span title={paused_reason ?? undefined}>
          <Link href={jobAddress(name)}>{name}</Link>
          {paused_reason !== null && <span className="danger-text"> needs attention</span>}
        </span>
      ),
    },
    { header: 'Schedule', grow: true, cell: (job) => <ScheduleWords job={job} /> },
    { header: 'Next run', cell: (job) => <NextRun job={job} /> },
    { header: 'Last run', cell: ({ last_run }) => <LastRun run={last_run} /> },
    {
      header: 'Last runs',
      optional: true,
      cell: ({ id }) => {
        const runs = recent.get(id) ?? [];
        return runs.length > 0 && <RunStrip runs={runs} />;
      },
    },
  ];
}

function LastRun({ run }: { run: JobRun | null }) {
  if (run === null) return <span className="quiet">never ran</span>;
  return (
    <span title={run.reason ?? undefined}>
      <RunBadge state={run.state} />{' '}
      <span className="quiet">
        <Ago at={run.scheduled_for} />
      </span>
    </span>
  );
}

function NoJobs() {
  const can = useCan();
  return (
    <Empty title="No jobs yet" command="heddle job create NAME --cron '30 2 * * *' --workflow FILE">
      A job starts a workflow on a schedule. {can('operate') && <Link href="/schedules?form=new">Create one here</Link>}
      {can('operate') && ', or on the command line:'}
    </Empty>
  );
}
