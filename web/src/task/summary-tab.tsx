import type { Task } from '@heddle/client';
import { Link } from 'wouter';
import { MergedLink } from '../workflows/merged-link.tsx';
import { CopyText } from '../ui/copy.tsx';
import { Field, Fields } from '../ui/fields.tsx';
import { Section } from '../ui/page.tsx';
import { STATE, stateOf } from '../ui/state.ts';
import { Ago, Took } from '../ui/time.tsx';
import { formatDuration } from '../times.ts';
import { Explain } from './explain.tsx';
import { HeldUp } from './held-up.tsx';
import { LogTail } from './log-tail.tsx';
import { useRunOf } from './use-run-of.ts';

/** Why it failed or does not run, what it prints, and its plain fields. */
export function SummaryTab({ task }: { task: Task }) {
  const state = stateOf(task.status);
  const { data: run } = useRunOf(task);
  return (
    <>
      {task.failure_reason !== null && (
        <div className="reason" data-bad={STATE[state].bad || undefined} role="note" aria-label="Reason">
          <p>{task.failure_reason}</p>
        </div>
      )}
      {(!STATE[state].ended || (STATE[state].bad && task.failure_reason === null)) && (
        <Explain id={task.id} status={task.status} />
      )}
      <HeldUp task={task} />
      <MergedLink kind={task.kind} input={task.metadata} />
      <LogTail task={task} />
      <Section title="Details">
        <Fields>
          <Field label="Kind">
            <Link href={`/runs?kind=${encodeURIComponent(task.kind)}`}>{task.kind}</Link>
          </Field>
          <Items task={task} />
          <Field label="Created">
            <Ago at={task.created_at} />
          </Field>
          <Field label="Waited">
            <Took from={task.created_at} to={task.started_at ?? task.ended_at} />
          </Field>
          {task.started_at !== null && (
            <Field label="Ran">
              <Took from={task.started_at} to={task.ended_at} />
            </Field>
          )}
          {task.ended_at !== null && (
            <Field label="Ended">
              <Ago at={task.ended_at} />
            </Field>
          )}
          <Field label="Timeout">
            {formatDuration(task.timeout * 1000)}{' '}
            {task.timeout_basis === 'start' ? 'from its start' : 'without activity'}
          </Field>
          {task.priority !== 0 && <Field label="Priority">{task.priority}</Field>}
          <Field label="Task">
            <CopyText text={task.id} />
          </Field>
          <Field label="Run">
            <Link href={`/runs/${task.batch_id}`}>{run?.title ?? task.batch_id}</Link>
          </Field>
        </Fields>
      </Section>
    </>
  );
}

function Items({ task }: { task: Task }) {
  const { success, failures } = task;
  const expected = task.expected_count ?? null;
  if (expected === null && success === 0 && failures === 0) return null;
  return (
    <Field label="Items">
      <span className="tabular">
        {success.toLocaleString()} done{failures > 0 && `, ${failures.toLocaleString()} failed`}
        {expected !== null && ` of ${expected.toLocaleString()}`}
      </span>
      {expected !== null && expected > 0 && (
        <progress max={expected} value={Math.min(expected, success + failures)} aria-label="Processed items" />
      )}
    </Field>
  );
}
