import type { RecentTask } from '../api/executors.ts';
import { formatAgo, formatDuration, formatMoment, parseTime } from '../times.ts';

const MARK: Record<string, string> = {
  pending: 'pending',
  running: 'running',
  success: 'success',
  error: 'failure',
};

/** The latest tasks of an executor for this server, newest first. */
export function RecentTasks({ tasks, now }: { tasks: readonly RecentTask[]; now: number }) {
  if (tasks.length === 0) return <p className="quiet">No recent tasks for this server.</p>;
  return (
    <table className="recent-tasks" data-testid="recent-tasks">
      <thead>
        <tr>
          <th scope="col">Event</th>
          <th scope="col">Outcome</th>
          <th scope="col">Submitted</th>
          <th scope="col" className="number">
            Took
          </th>
          <th scope="col">Task on the executor</th>
        </tr>
      </thead>
      <tbody>
        {tasks.map((task) => (
          <TaskRow key={task.correlation_id} task={task} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function TaskRow({ task, now }: { task: RecentTask; now: number }) {
  const { correlation_id, event_name, status, code, created_at, duration_ms } = task;
  const at = parseTime(created_at);
  return (
    <tr>
      <td>{event_name}</td>
      <td>
        <span className="status-chip">
          <span className={`mark mark-${MARK[status] ?? 'waiting'}`} aria-hidden="true" />
          {code ?? status}
        </span>
      </td>
      <td title={at === null ? undefined : formatMoment(at)}>{at === null ? created_at : formatAgo(at, now)}</td>
      <td className="number tabular">{duration_ms === null ? '' : formatDuration(duration_ms)}</td>
      <td className="quiet mono">{correlation_id}</td>
    </tr>
  );
}
