import type { Run } from '@heddle/client';
import { useEffect } from 'react';
import { Link } from 'wouter';
import { jobAddress } from '../data/addresses.ts';
import { useFilters } from '../data/filters.ts';
import { Segments } from '../ui/segments.tsx';
import { stateOf } from '../ui/state.ts';
import { OutcomeBar, StateBadge } from '../ui/state.tsx';
import { Ago, Took } from '../ui/time.tsx';
import { RunActions } from './run-actions.tsx';
import { tallyOf } from './run-columns.tsx';

type ViewName = 'graph' | 'timeline' | 'tasks';

/** What a run is, how it goes, why it failed, what can be done with it, and how to look at it. */
export function RunHead({ run }: { run: Run }) {
  const [{ view }, change] = useFilters(['view']);
  const chosen: ViewName = view === 'timeline' || view === 'tasks' ? view : 'graph';
  const { id, title, counts, created_at, ended_at, reason, failed_task, job, name } = run;
  useEffect(() => {
    document.title = `${title} · Heddle`;
  }, [title]);
  return (
    <header className="run-head">
      <nav className="crumbs" aria-label="Breadcrumbs">
        <Link href="/runs">Runs</Link> <span aria-hidden="true">/</span>{' '}
        {name !== null && (
          <>
            <Link href={`/runs/grid?name=${encodeURIComponent(name)}`}>{name}</Link>{' '}
            <span aria-hidden="true">/</span>{' '}
          </>
        )}
        {job !== null && (
          <>
            job <Link href={jobAddress(job.name)}>{job.name}</Link>
          </>
        )}
      </nav>
      <div className="view-title">
        <h1 title={id}>{title}</h1>
        <div className="view-actions">
          <RunActions run={run} />
          <Segments
            label="View"
            options={{ graph: run.type === 'workflow' ? 'Tree' : 'Graph', timeline: 'Timeline', tasks: 'Tasks' }}
            chosen={chosen}
            onChoose={(next) => change({ view: next === 'graph' ? '' : next })}
          />
        </div>
      </div>
      <span className="lead-line">
        <StateBadge state={stateOf(run.state)} />
        <span className="run-tasks">
          <OutcomeBar tally={tallyOf(run)} />
          <span className="tabular">
            {(counts.total - counts.remaining).toLocaleString()} of {counts.total.toLocaleString()} tasks ended
          </span>
        </span>
        <span className="quiet">
          created <Ago at={created_at} />, {ended_at === null ? 'running for' : 'took'}{' '}
          <Took from={created_at} to={ended_at} />
        </span>
      </span>
      {reason !== null && (
        <p className="run-head-reason">
          {failed_task !== null && <Link href={`/tasks/${failed_task.id}`}>{failed_task.name}</Link>} {reason}
        </p>
      )}
    </header>
  );
}
