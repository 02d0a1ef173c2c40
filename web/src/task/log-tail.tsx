import type { Task } from '@heddle/client';
import { Link } from 'wouter';
import { tailLogs } from '../api/client.ts';
import { useLive } from '../data/live.ts';
import { Section } from '../ui/page.tsx';
import { LogText } from './log-lines.tsx';

const LINES = 12;

/** The last lines that the task printed; nothing if it printed none. */
export function LogTail({ task }: { task: Task }) {
  const { id, attempt, status, ended_at } = task;
  const { data } = useLive(['log-tail', id, attempt, status], (signal) => tailLogs(id, LINES, signal), {
    enabled: attempt > 0,
    ...(ended_at === null ? {} : { every: false as const }),
  });
  if (data === undefined || data.lines.length === 0) return null;
  return (
    <Section title="Last lines" beside={<Link href={`/tasks/${id}?tab=logs`}>All lines</Link>} testId="log">
      <pre className="log-box log-tail" tabIndex={0} role="region" aria-label="Last lines of the log">
        {data.lines.map((line) => (
          <div key={line.number}>
            <LogText line={line} />
          </div>
        ))}
      </pre>
    </Section>
  );
}
