import type { Task } from '@heddle/client';
import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { tasks } from '../api/tasks.ts';
import { useLive } from '../data/live.ts';
import { queryClient } from '../data/query-client.ts';
import { Lead, TaskTabs } from '../task/task-page.tsx';
import { TaskActions } from '../task/task-actions.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Loading } from '../ui/loading.tsx';

interface TaskPanelProps {
  id: string;
  /** Known before the task is read. */
  name: string | null;
  /** Changes with the task: it is read again at once. */
  stamp: string;
  /** Where the task stands, above its tabs. */
  children?: ReactNode;
}

/** The selected task beside a graph or a tree: the parts of its own page. */
export function TaskPanel({ id, name, stamp, children }: TaskPanelProps) {
  const { data: task, error, dataUpdatedAt } = useLive(['task', id], (signal) => tasks.get(id, signal));
  const known = useRef(stamp);
  useEffect(() => {
    if (known.current === stamp) return;
    known.current = stamp;
    void queryClient.invalidateQueries({ queryKey: ['task', id] });
  }, [id, stamp]);
  const shown: Task | undefined = task?.id === id ? task : undefined;
  return (
    <>
      <h2 data-testid="task-name">
        <Link href={`/tasks/${id}`} title="Open the page of this task">
          {name ?? shown?.name ?? 'Task'}
        </Link>
      </h2>
      {shown !== undefined && (
        <>
          <p>
            <Lead task={shown} />
          </p>
          <div className="panel-actions">
            <TaskActions task={shown} />
          </div>
        </>
      )}
      {children}
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {shown === undefined && error === null && <Loading />}
      {shown !== undefined && <TaskTabs key={id} task={shown} />}
    </>
  );
}
