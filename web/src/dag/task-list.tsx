import { StatusMark } from '../status-chip.tsx';
import { formatDuration, useNow } from '../times.ts';
import { progressOf, runtimeOf } from './task-store.ts';
import type { TaskView } from './task-store.ts';
import { useVirtualRows } from '../virtual-rows.ts';

const ROW_HEIGHT = 44;

interface TaskListProps {
  tasks: readonly TaskView[];
  total: number;
  onShowAll: () => void;
  onSelect: (id: string) => void;
}

/** The tasks in order of creation: the graph for keyboard users. Renders only visible rows. */
export function TaskList({ tasks, total, onShowAll, onSelect }: TaskListProps) {
  const { scroller, first, last } = useVirtualRows(tasks.length, ROW_HEIGHT);
  const now = useNow(1000);
  return (
    <>
      <h2 className="panel-title">
        Tasks{' '}
        <span className="quiet tabular">
          {tasks.length === total
            ? total.toLocaleString()
            : `${tasks.length.toLocaleString()} of ${total.toLocaleString()}`}
        </span>
        {tasks.length !== total && (
          <button type="button" className="plain" onClick={onShowAll}>
            Show all
          </button>
        )}
      </h2>
      {tasks.length === 0 && <p className="notice">No matching tasks.</p>}
      <div className="task-scroller" ref={scroller}>
        <ul className="task-list" style={{ height: tasks.length * ROW_HEIGHT }}>
          {tasks.slice(first, last).map((task, i) => (
            <li key={task.id} style={{ transform: `translateY(${(first + i) * ROW_HEIGHT}px)` }}>
              <button type="button" onClick={() => onSelect(task.id)}>
                <StatusMark status={task.status} />
                <span className="task-name">{task.name}</span>
                <span className="task-kind quiet">
                  <span className="visually-hidden">{task.status}, </span>
                  {task.kind}
                </span>
                <span className="task-side quiet tabular">{sideNote(task, now)}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}

function sideNote(task: TaskView, now: number): string {
  const share = task.status === 'Running' ? progressOf(task) : null;
  if (share !== null) return `${Math.floor(share * 100)} %`;
  const runtime = runtimeOf(task, now);
  return runtime === null ? '' : formatDuration(runtime);
}
