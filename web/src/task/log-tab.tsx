import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Task } from '@heddle/client';
import { useFilters } from '../data/filters.ts';
import { Button } from '../ui/button.tsx';
import { downloadText } from '../ui/download.ts';
import { Empty } from '../ui/empty.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { notifyError } from '../ui/toast.tsx';
import { LogText } from './log-lines.tsx';
import { readWholeLog, SHOWN_LINES_MAX, useLog } from './use-log.ts';
import type { Log } from './use-log.ts';

const LINE_HEIGHT_PX = 18;
const ATTEMPTS_SHOWN = 50;

/** The log of one attempt: live, searchable, downloadable. */
export function LogTab({ task }: { task: Task }) {
  const [{ attempt: asked, find }, change] = useFilters(['attempt', 'find']);
  const attempt = Number(asked) || task.attempt;
  if (task.attempt === 0) return <Empty title="It has not started, so it has logged nothing" />;
  return (
    <AttemptLog
      key={attempt}
      task={task}
      attempt={attempt}
      find={find}
      onFind={(text) => change({ find: text })}
      onAttempt={(next) => change({ attempt: next === String(task.attempt) ? '' : next })}
    />
  );
}

interface AttemptLogProps {
  task: Task;
  attempt: number;
  find: string;
  onFind: (text: string) => void;
  onAttempt: (attempt: string) => void;
}

function AttemptLog({ task, attempt, find, onFind, onAttempt }: AttemptLogProps) {
  const log = useLog(task.id, attempt);
  const [isFollowing, setFollowing] = useState(true);
  const shown = useMemo(() => {
    const low = find.toLowerCase();
    return low === '' ? log.lines : log.lines.filter(({ text }) => text.toLowerCase().includes(low));
  }, [log.lines, find]);
  return (
    <>
      <FilterBar>
        <TextFilter label="Find in the log" value={find} onChange={onFind} main />
        {task.attempt > 1 && (
          <ChoiceFilter
            label="Attempt"
            value={String(attempt)}
            options={attemptOptions(task.attempt)}
            onChange={onAttempt}
          />
        )}
        <label className="choice">
          <input type="checkbox" checked={isFollowing} onChange={(event) => setFollowing(event.target.checked)} />
          Follow
        </label>
        <Button onClick={() => download(task, attempt)}>Download</Button>
        <span className="quiet" role="status">
          {statusOf(log, shown.length, find)}
        </span>
      </FilterBar>
      {log.error !== null && <ProblemBox error={log.error} />}
      {log.isLoaded && log.lines.length === 0 ? (
        <Empty title={log.isFollowing ? 'It has logged nothing yet' : 'It logged nothing'}>
          Commands log what they print, kinds call <code>context.log</code>.
        </Empty>
      ) : (
        <LogBox
          lines={shown}
          find={find}
          isFollowing={isFollowing && find === ''}
          onScrolledUp={() => setFollowing(false)}
        />
      )}
    </>
  );
}

function attemptOptions(last: number): Record<string, string> {
  const first = Math.max(1, last - ATTEMPTS_SHOWN + 1);
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => last - i);
  return Object.fromEntries(
    numbers.map((number) => [` ${number}`.trim(), `${number}${number === last ? ' (last)' : ''}`]),
  );
}

function statusOf({ lines, isLoaded, isFollowing }: Log, shown: number, find: string): string {
  if (!isLoaded) return 'Loading…';
  const count = find === '' ? `${lines.length.toLocaleString()} lines` : `${shown.toLocaleString()} matching lines`;
  const earlier = (lines[0]?.number ?? 0) > 0 ? `, from line ${(lines[0]!.number + 1).toLocaleString()}` : '';
  const bound = lines.length === SHOWN_LINES_MAX ? '; download for all' : '';
  return `${count}${earlier}${bound}${isFollowing ? ', live' : ''}`;
}

interface LogBoxProps {
  lines: Log['lines'];
  find: string;
  isFollowing: boolean;
  onScrolledUp: () => void;
}

/** Draws only the lines in view, and stays at the end while it follows. */
function LogBox({ lines, find, isFollowing, onScrolledUp }: LogBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT_PX,
    overscan: 30,
  });
  useEffect(() => {
    if (isFollowing && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [isFollowing, lines.length]);
  return (
    <div
      ref={box}
      className="log-box"
      tabIndex={0}
      role="log"
      aria-label="Log"
      aria-live="off"
      onWheel={(event) => {
        if (event.deltaY < 0) onScrolledUp();
      }}
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const line = lines[index]!;
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className="log-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              <span className="log-number">{line.number + 1}</span>
              <LogText line={line} mark={find} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function download(task: Task, attempt: number): void {
  readWholeLog(task.id, attempt).then(
    (text) => downloadText(`${task.name}-${attempt}.log`, text, 'text/plain'),
    (error: unknown) => notifyError('The log cannot be downloaded', error),
  );
}
