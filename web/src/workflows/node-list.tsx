import { formatDuration, useSharedNow } from '../times.ts';
import { useVirtualRows } from '../virtual-rows.ts';
import { STATE_LABEL } from './node-state.ts';
import { StateMark } from './state-chip.tsx';
import type { ListedTask } from './listed-task.ts';

const ROW_HEIGHT = 44;

interface NodeListProps {
  tasks: readonly ListedTask[];
  /** Total tasks of the workflow. */
  total: number;
  filtering: boolean;
  searching: boolean;
  onShowAll: () => void;
  onSelect: (id: string) => void;
}

/** Tasks as a list: the quickest way to the failed ones. Renders only visible rows. */
export function NodeList({ tasks, total, filtering, searching, onShowAll, onSelect }: NodeListProps) {
  const { scroller, first, last } = useVirtualRows(tasks.length, ROW_HEIGHT);
  const now = useSharedNow();
  const whole = !filtering && tasks.length >= total;
  return (
    <>
      <h2 className="panel-title">
        Tasks{' '}
        <span className="quiet tabular">
          {whole ? total.toLocaleString() : `${tasks.length.toLocaleString()} of ${total.toLocaleString()}`}
        </span>
        {filtering && (
          <button type="button" className="plain" onClick={onShowAll}>
            Show all
          </button>
        )}
      </h2>
      {tasks.length === 0 && (
        <p className="notice">{searching ? 'Searching…' : filtering ? 'No matching tasks.' : 'No tasks yet.'}</p>
      )}
      <div className="task-scroller" ref={scroller}>
        <ul className="task-list" style={{ height: tasks.length * ROW_HEIGHT }}>
          {tasks.slice(first, last).map((task, i) => (
            <li key={task.id} style={{ transform: `translateY(${(first + i) * ROW_HEIGHT}px)` }}>
              <button type="button" onClick={() => onSelect(task.id)}>
                <StateMark state={task.state} />
                <span className="task-name">{task.label}</span>
                <span className="task-kind quiet">
                  <span className="visually-hidden">{STATE_LABEL[task.state]}, </span>
                  {task.reason ?? task.kind}
                </span>
                <span className="task-side quiet tabular">
                  {task.startedAt === null ? '' : formatDuration((task.endedAt ?? now) - task.startedAt)}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}
