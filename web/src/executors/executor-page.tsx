import type { Executor } from '@heddle/client';
import { useParams } from 'wouter';
import { ApiError } from '../api/client.ts';
import { listExecutors } from '../api/executors.ts';
import type { RecentTask } from '../api/executors.ts';
import { useLive } from '../data/live.ts';
import { formatDuration } from '../times.ts';
import { Absent } from '../ui/absent.tsx';
import { Field, Fields } from '../ui/fields.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { Note } from '../ui/note.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import type { State } from '../ui/state.ts';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { BusyWorkers } from './busy-workers.tsx';
import { ExecutorBadge, remedyOf, troublesOf } from './executor-state.tsx';

const LIST = { label: 'Executors', href: '/executors' };

/** One executor: its health with the remedy, its limits, and its latest tasks. */
export function ExecutorPage() {
  const endpoint = decodeURIComponent(useParams<{ endpoint: string }>().endpoint);
  const { data, error, dataUpdatedAt } = useLive(['executors'], listExecutors);
  const executor = data?.find((each) => each.endpoint === endpoint);
  if (executor === undefined) {
    const absent = data === undefined ? error : new ApiError(404, 'No such executor');
    return (
      <Absent noun="executor" id={endpoint} list={LIST} error={absent} updatedAtMs={dataUpdatedAt}>
        HEDDLE_EXECUTORS does not name it.
      </Absent>
    );
  }
  return (
    <Page
      title={executor.endpoint}
      crumbs={[LIST]}
      lead={
        <>
          <ExecutorBadge state={executor.state} /> · executor {executor.executor} ·{' '}
          {executor.answered_at === null ? (
            'never responded'
          ) : (
            <>
              responded <Ago at={executor.answered_at} />
            </>
          )}
        </>
      }
    >
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      <Troubles executor={executor} />
      <Facts executor={executor} />
      <RecentTasks tasks={executor.status?.recent ?? []} />
    </Page>
  );
}

function Troubles({ executor }: { executor: Executor }) {
  const { last_error } = executor;
  const troubles = troublesOf(executor);
  if (troubles.length === 0 && last_error === null) return null;
  return (
    <Note label="Problems">
      {troubles.map(({ cause, remedy }) => (
        <p key={cause}>
          <strong>{cause}</strong> {remedy}
        </p>
      ))}
      {last_error !== null && (
        <p>
          Last error <Ago at={last_error.at} />: {last_error.message}
        </p>
      )}
    </Note>
  );
}

function Facts({ executor: { status, in_flight, clock_offset_ms } }: { executor: Executor }) {
  return (
    <Section title="Load and limits" testId="executor-details">
      <Fields>
        <Field label="Calls under way">{in_flight.toLocaleString()}</Field>
        {clock_offset_ms !== null && (
          <Field label="Clock">
            {clock_offset_ms === 0
              ? 'agrees with that of this server'
              : `${formatDuration(Math.abs(clock_offset_ms))} ${clock_offset_ms > 0 ? 'ahead of' : 'behind'} this server`}
          </Field>
        )}
        {status !== null && (
          <>
            <Field label="Version">{status.version}</Field>
            <Field label="Isolation" title="How strongly its tasks are separated: pooled, process, jail or container">
              {status.tier}
            </Field>
            <Field label="Workers busy">
              <BusyWorkers status={status} />
            </Field>
            <Field label="Queue">
              {status.queue_depth.toLocaleString()} of at most {status.max_pending_tasks.toLocaleString()} tasks wait
            </Field>
            <Field label="Up for">{formatDuration(status.uptime_seconds * 1000)}</Field>
          </>
        )}
      </Fields>
    </Section>
  );
}

const GLYPH: Readonly<Record<string, State>> = {
  pending: 'pending',
  running: 'running',
  success: 'succeeded',
  error: 'failed',
};

const TASKS: readonly Column<RecentTask>[] = [
  {
    header: 'Outcome',
    cell: ({ status, code }) => (
      <span className="state-badge">
        <StateGlyph state={GLYPH[status] ?? 'waiting'} />
        {code ?? status}
      </span>
    ),
  },
  { header: 'Event', cell: ({ event_name }) => event_name },
  {
    header: 'Remedy',
    grow: true,
    cell: ({ code }) => {
      const remedy = remedyOf(code);
      return remedy !== null && <span title={remedy}>{remedy}</span>;
    },
  },
  { header: 'Submitted', cell: ({ created_at }) => <Ago at={created_at} /> },
  {
    header: 'Took',
    number: true,
    cell: ({ duration_ms }) => (duration_ms === null ? '' : formatDuration(duration_ms)),
  },
  { header: 'Task on the executor', optional: true, cell: ({ correlation_id }) => <code>{correlation_id}</code> },
];

/** The latest tasks of an executor for this server, newest first. */
function RecentTasks({ tasks }: { tasks: readonly RecentTask[] }) {
  return (
    <Section title="Recent tasks" testId="recent-tasks" beside={<span className="quiet">of this server</span>}>
      {tasks.length === 0 ? (
        <p className="quiet">No recent tasks for this server.</p>
      ) : (
        <Table label="Recent tasks" columns={TASKS} rows={tasks} rowId={({ correlation_id }) => correlation_id} />
      )}
    </Section>
  );
}
