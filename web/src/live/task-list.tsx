import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { formatDuration, useSharedNow } from '../times.ts';
import { Button } from '../ui/button.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { STATE } from '../ui/state.ts';
import type { State } from '../ui/state.ts';

const ROW_HEIGHT_PX = 44;

/** A task in the list beside a graph or a tree. */
export interface ListedTask {
  id: string;
  name: string;
  kind: string;
  state: State;
  reason: string | null;
  startedAt: number | null;
  endedAt: number | null;
  /** Processed share, 0 to 1, while it runs; null if it is not known. */
  share?: number | null;
}

interface TaskListProps {
  title: string;
  tasks: readonly ListedTask[];
  /** Of how many. */
  total: number;
  isFiltering: boolean;
  isSearching?: boolean;
  onShowAll: () => void;
  onSelect: (id: string) => void;
}

/** Tasks as a list: the quickest way to the failed ones, and the graph for keyboard users. */
export function TaskList({ title, tasks, total, isFiltering, isSearching, onShowAll, onSelect }: TaskListProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: 8,
  });
  const isWhole = !isFiltering && tasks.length >= total;
  return (
    <>
      <h2 className="panel-title">
        {title}{' '}
        <span className="quiet tabular">
          {isWhole ? total.toLocaleString() : `${tasks.length.toLocaleString()} of ${total.toLocaleString()}`}
        </span>
        {isFiltering && (
          <Button look="plain" onClick={onShowAll}>
            Show all
          </Button>
        )}
      </h2>
      {tasks.length === 0 && (
        <p className="notice">
          {isSearching === true ? 'Searching…' : isFiltering ? 'No matching tasks.' : 'No tasks yet.'}
        </p>
      )}
      <div className="task-scroller" ref={box}>
        <ul className="task-list" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <li key={tasks[index]!.id} style={{ transform: `translateY(${start}px)` }}>
              <TaskRow task={tasks[index]!} onSelect={onSelect} />
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}

function TaskRow({ task, onSelect }: { task: ListedTask; onSelect: (id: string) => void }) {
  return (
    <button type="button" onClick={() => onSelect(task.id)}>
      <StateGlyph state={task.state} size={20} />
      <span className="task-name">{task.name}</span>
      <span className="task-kind quiet">
        <span className="visually-hidden">{STATE[task.state].label}, </span>
        {task.reason ?? task.kind}
      </span>
      <span className="task-side quiet tabular">
        <SideNote task={task} />
      </span>
    </button>
  );
}

function SideNote({ task: { state, share, startedAt, endedAt } }: { task: ListedTask }) {
  const now = useSharedNow();
  if (state === 'running' && share !== null && share !== undefined) return `${Math.floor(share * 100)} %`;
  if (startedAt === null || (endedAt === null && STATE[state].ended)) return null;
  return formatDuration((endedAt ?? now) - startedAt);
}
