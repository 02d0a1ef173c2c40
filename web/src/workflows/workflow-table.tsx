import type { Workflow } from '../api/workflow-wire.ts';
import { formatAgo, formatDuration, formatMoment, parseTime } from '../times.ts';
import { stateFromWire } from './node-state.ts';
import { StateChip } from './state-chip.tsx';
import { workflowAddress } from './address.ts';

/** Workflows as a table: state, name, progress, when and how long. */
export function WorkflowTable({ rows, now }: { rows: readonly Workflow[]; now: number }) {
  return (
    <table className="batch-table workflow-table">
      <thead>
        <tr>
          <th scope="col">Workflow</th>
          <th scope="col">State</th>
          <th scope="col">Progress</th>
          <th scope="col">Created</th>
          <th scope="col" className="number">
            Took
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((workflow) => (
          <WorkflowRow key={workflow.id} workflow={workflow} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function WorkflowRow({ workflow, now }: { workflow: Workflow; now: number }) {
  const done = workflow.task_count - workflow.remaining;
  const createdAt = parseTime(workflow.created_at);
  const endedAt = parseTime(workflow.ended_at);
  return (
    <tr>
      <td className="batch-name">
        <a href={workflowAddress(workflow.id)}>{workflow.name ?? workflow.id}</a>
        <span className="quiet mono">{workflow.name === null ? '' : workflow.id}</span>
      </td>
      <td>
        <StateChip state={stateFromWire(workflow.state)} paused={workflow.paused} />
        {workflow.archived && <span className="quiet"> · archived</span>}
      </td>
      <td className="batch-progress">
        <progress
          max={Math.max(1, workflow.task_count)}
          value={workflow.task_count === 0 ? 1 : done}
          aria-label="Progress"
        />
        <span className="tabular">
          {done.toLocaleString()} of {workflow.task_count.toLocaleString()}
          <span className="quiet"> tasks ended</span>
        </span>
      </td>
      <td title={createdAt === null ? '' : formatMoment(createdAt)}>
        {createdAt === null ? '–' : formatAgo(createdAt, now)}
      </td>
      <td className="number tabular">{createdAt === null ? '–' : formatDuration((endedAt ?? now) - createdAt)}</td>
    </tr>
  );
}
