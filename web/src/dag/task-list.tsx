import { useEffect, useRef, useState } from 'react';
import { StatusMark } from '../status-chip.tsx';
import { formatDuration, useNow } from '../times.ts';
import { progressOf, runtimeOf } from './task-store.ts';
import type { TaskView } from './task-store.ts';

const ROW_HEIGHT = 44;
const OVERSCAN = 8;

interface TaskListProps {
  tasks: readonly TaskView[];
  total: number;
  onShowAll: () => void;
  onSelect: (id: string) => void;
}

/** The tasks in order of creation: the graph for those who use the keyboard. Only the rows in sight are rendered. */
export function TaskList({ tasks, total, onShowAll, onSelect }: TaskListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = scroller.current!;
    const measure = (): void => setRange({ top: element.scrollTop, height: element.clientHeight });
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);
  const now = useNow(1000);
  const first = Math.max(0, Math.floor(range.top / ROW_HEIGHT) - OVERSCAN);
  const last = Math.min(tasks.length, Math.ceil((range.top + range.height) / ROW_HEIGHT) + OVERSCAN);
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
      {tasks.length === 0 && <p className="notice">No task fits the search and the states chosen.</p>}
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
