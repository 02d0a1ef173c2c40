import { useEffect, useState } from 'react';
import { explainTask } from '../api/client.ts';
import type { Explanation, Json } from '../api/wire.ts';
import { Problem } from '../problem.tsx';
import { formatAgo, parseTime, useNow } from '../times.ts';

interface ExplainSectionProps {
  id: string;
  running: boolean;
  /** Changes with the task, so that the explanation is requested again. */
  stamp: string;
  /** Whether this page can show a task. */
  knows: (id: string) => boolean;
  onSelect: (id: string) => void;
}

/** Explains why a task is not running: the server's sentence, then the obstacles. */
export function ExplainSection({ id, running, stamp, knows, onSelect }: ExplainSectionProps) {
  const [answer, setAnswer] = useState<Explanation | null>(null);
  const [error, setError] = useState<unknown>(null);
  const slowly = useNow(5000);
  useEffect(() => {
    const stopped = new AbortController();
    explainTask(id, stopped.signal).then(
      (next) => {
        setAnswer(next);
        setError(null);
      },
      (failure: unknown) => {
        if (!stopped.signal.aborted) setError(failure);
      },
    );
    return () => stopped.abort();
  }, [id, stamp, slowly]);
  if (answer === null && error === null) return null;
  return (
    <section className="explain" data-testid="explain">
      <h3>{running ? 'Now' : 'Why it is not running'}</h3>
      {answer === null && <Problem error={error} />}
      {answer !== null && (
        <>
          <p>{answer.summary}</p>
          <ul>
            {answer.obstacles.map((obstacle, i) => (
              <ObstacleLine key={i} obstacle={obstacle} knows={knows} onSelect={onSelect} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface ObstacleLineProps {
  obstacle: Record<string, Json>;
  knows: (id: string) => boolean;
  onSelect: (id: string) => void;
}

function ObstacleLine({ obstacle, knows, onSelect }: ObstacleLineProps) {
  const people = listOf(obstacle['parents']) ?? listOf(obstacle['holders']) ?? [];
  return (
    <li>
      {describe(obstacle)}
      {people.length > 0 && (
        <span className="obstacle-tasks">
          {people.map((entry, i) => (
            <TaskLink key={i} entry={entry} knows={knows} onSelect={onSelect} />
          ))}
        </span>
      )}
    </li>
  );
}

function TaskLink({ entry, knows, onSelect }: { entry: Json } & Omit<ObstacleLineProps, 'obstacle'>) {
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) return null;
  const id = plain(entry['id']);
  const name = plain(entry['name']) || id;
  if (!knows(id)) return <span>{name}</span>;
  return (
    <button type="button" className="link" onClick={() => onSelect(id)}>
      {entry['status'] === 'Canceled' ? `${name} (canceled)` : name}
    </button>
  );
}

function listOf(value: Json | undefined): Json[] | null {
  return Array.isArray(value) ? value : null;
}

function plain(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function moment(value: Json | undefined): string {
  const at = typeof value === 'string' || typeof value === 'number' ? parseTime(value) : null;
  return at === null ? plain(value) : formatAgo(at, Date.now());
}

function before(value: Json | undefined): string {
  const names = listOf(value)?.map(plain) ?? [];
  return names.length === 0 ? '' : `: preceded in its sequence by ${names.join(', ')}`;
}

/** Describes one obstacle; an unknown one is shown unchanged. */
function describe(obstacle: Record<string, Json>): string {
  const get = (key: string): string => plain(obstacle[key]);
  switch (get('type')) {
    case 'parents':
      return `Waits for ${get('total')} ${get('total') === '1' ? 'task' : 'tasks'}: `;
    case 'rule': {
      const fields = obstacle['fields'];
      const same = fields !== null && typeof fields === 'object' && Object.keys(fields).length > 0;
      const rule = get('rule') === 'Capacity' ? 'capacity' : 'concurrency';
      return `The ${rule} rule of ${get('kind')}${same ? ` with ${plain(fields)}` : ''} is at ${get('used')} of ${get('max')}. Held by: `;
    }
    case 'turn':
      return `Waiting for its container${before(obstacle['before'])}.`;
    case 'expanding':
      return `${get('created')} of the ${get('expected')} announced tasks exist.`;
    case 'paused':
      return `Paused ${moment(obstacle['since'])}; resume it to continue.`;
    case 'delayed':
      return `Attempt ${get('attempt')} starts ${moment(obstacle['until'])}.`;
    case 'no_worker':
      return `No worker for ${get('lane')}${get('last_seen') === '' ? '' : `; last seen ${moment(obstacle['last_seen'])}`}.`;
    case 'runner': {
      const last = get('last_failure') === '' ? '' : ` The last launch failed: ${get('last_failure')}.`;
      if (get('stage') !== 'waiting') return 'Waiting for a runner.';
      return `Waiting for a runner: ${get('ahead')} ${get('ahead') === '1' ? 'request is' : 'requests are'} ahead of it, ${get('launching')} launching.${last}`;
    }
    case 'queued':
      return `${get('ahead')} ${get('ahead') === '1' ? 'task is' : 'tasks are'} ahead of it.`;
    case 'delivering': {
      const next = get('next_try_at') === '' ? '' : `; next try ${moment(obstacle['next_try_at'])}`;
      const last = get('last_error') === '' ? '' : `; last response: ${get('last_error')}`;
      return `Its start webhook was tried ${get('tries')} times${last}${next}.`;
    }
    default:
      return JSON.stringify(obstacle);
  }
}
