import { useEffect, useRef, useState } from 'react';
import type { LogLine, LogPage, Task } from '@heddle/client';
import { tailLogs } from '../api/client.ts';
import { Problem } from '../problem.tsx';
import { formatMoment, parseTime, useNow } from '../times.ts';

const LINES = 500;
const REFRESH_MS = 2000;

/** The end of what the last attempt logged; read again while the task runs. */
export function LogSection({ task }: { task: Task }) {
  const [page, setPage] = useState<LogPage | null>(null);
  const [error, setError] = useState<unknown>(null);
  const open = task.ended_at === null;
  const tick = useNow(REFRESH_MS, open);
  const { id, attempt, status } = task;
  useEffect(() => {
    if (attempt === 0) return undefined;
    const stopped = new AbortController();
    tailLogs(id, LINES, stopped.signal).then(
      (next) => {
        setPage(next);
        setError(null);
      },
      (failure: unknown) => {
        if (!stopped.signal.aborted) setError(failure);
      },
    );
    return () => stopped.abort();
  }, [id, attempt, status, tick]);
  const box = useRef<HTMLPreElement>(null);
  const last = page?.next;
  useEffect(() => box.current?.scrollTo({ top: box.current.scrollHeight }), [last]);
  if (error !== null) return <Problem error={error} />;
  if (page === null || page.lines.length === 0) return null;
  const earlier = page.lines[0]!.number;
  return (
    <section data-testid="log">
      <h3>Log</h3>
      {earlier > 0 && (
        <p className="quiet">
          {earlier.toLocaleString()} earlier {earlier === 1 ? 'line' : 'lines'}: heddle task logs {id}
        </p>
      )}
      <pre className="log" ref={box} tabIndex={0}>
        {page.lines.map((line) => (
          <Line key={line.number} line={line} />
        ))}
      </pre>
    </section>
  );
}

function Line({ line }: { line: LogLine }) {
  const loud = line.stream === 'stderr' || line.level === 'warn' || line.level === 'error';
  const at = parseTime(line.at);
  return (
    <span data-loud={loud ? '' : undefined} title={at === null ? undefined : formatMoment(at)}>
      {line.text}
      {'\n'}
    </span>
  );
}
