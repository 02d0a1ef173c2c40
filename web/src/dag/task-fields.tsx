import type { ReactNode } from 'react';
import type { Task } from '@heddle/client';
import { formatAgo, formatDuration, formatMoment, parseTime } from '../times.ts';

/** The plain fields of a task: counts, durations with the exact times in tooltips, ids. */
export function TaskFields({ task, now, owner }: { task: Task; now: number; owner: 'Batch' | 'Workflow' }) {
  const created = parseTime(task.created_at);
  const started = parseTime(task.started_at);
  const ended = parseTime(task.ended_at);
  const updated = parseTime(task.last_updated);
  const extra = task as unknown as Record<string, unknown>;
  return (
    <dl className="fields">
      <Counts task={task} />
      {created !== null && (
        <Field label="Waited" title={`created ${formatMoment(created)}`}>
          {formatDuration((started ?? ended ?? now) - created)}
          <span className="quiet"> · created {formatAgo(created, now)}</span>
        </Field>
      )}
      <Field label="Ran" title={started === null ? '' : `started ${formatMoment(started)}`}>
        {started === null ? (
          <span className="quiet">not started</span>
        ) : (
          <>
            {formatDuration((ended ?? now) - started)}
            <span className="quiet"> · started {formatAgo(started, now)}</span>
          </>
        )}
      </Field>
      {ended !== null && (
        <Field label="Ended" title={formatMoment(ended)}>
          {formatMoment(ended)}
        </Field>
      )}
      {updated !== null && ended === null && (
        <Field label="Last activity" title={formatMoment(updated)}>
          {formatAgo(updated, now)}
        </Field>
      )}
      <Field label="Timeout">
        {formatDuration(task.timeout * 1000)} {task.timeout_basis === 'start' ? 'from its start' : 'without activity'}
      </Field>
      {typeof extra['priority'] === 'number' && extra['priority'] !== 0 && (
        <Field label="Priority">{extra['priority']}</Field>
      )}
      <Field label="Task">
        <CopyText text={task.id} />
      </Field>
      <Field label={owner}>
        <CopyText text={task.batch_id} />
      </Field>
    </dl>
  );
}

function Counts({ task }: { task: Task }) {
  const expected = task.expected_count ?? null;
  if (expected === null && task.success === 0 && task.failures === 0) return null;
  const through = task.success + task.failures;
  return (
    <Field label="Items">
      <span className="tabular">
        {task.success.toLocaleString()} done
        {task.failures > 0 && <span className="failed-count"> · {task.failures.toLocaleString()} failed</span>}
        {expected !== null && <span className="quiet"> · of {expected.toLocaleString()}</span>}
      </span>
      {expected !== null && expected > 0 && (
        <progress max={expected} value={Math.min(expected, through)} aria-label="Processed items" />
      )}
    </Field>
  );
}

/** One line of a list of fields; the title is its tooltip. */
export function Field({ label, title, children }: { label: string; title?: string; children: ReactNode }) {
  return (
    <div title={title}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A string with a button that copies it. */
export function CopyText({ text }: { text: string }) {
  return (
    <span className="copy">
      <code>{text}</code>
      <button
        type="button"
        className="plain"
        aria-label={`Copy ${text}`}
        // Absent on pages served without TLS from another machine: the string can still be selected.
        onClick={() => void (navigator as Partial<Navigator>).clipboard?.writeText(text)}
      >
        Copy
      </button>
    </span>
  );
}
