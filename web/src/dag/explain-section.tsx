import { useEffect, useState } from 'react';
import { explainTask } from '../api/client.ts';
import type { Explanation } from '@heddle/client';
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

type Obstacle = Explanation['obstacles'][number];
type NamedTask = Extract<Obstacle, { type: 'rule' }>['holders'][number];

interface ObstacleLineProps {
  obstacle: Obstacle;
  knows: (id: string) => boolean;
  onSelect: (id: string) => void;
}

function ObstacleLine({ obstacle, knows, onSelect }: ObstacleLineProps) {
  const tasks = tasksOf(obstacle);
  return (
    <li>
      {describe(obstacle)}
      {tasks.length > 0 && (
        <span className="obstacle-tasks">
          {tasks.map((task) => (
            <TaskLink key={task.id} task={task} knows={knows} onSelect={onSelect} />
          ))}
        </span>
      )}
    </li>
  );
}

function TaskLink({ task, knows, onSelect }: { task: NamedTask } & Omit<ObstacleLineProps, 'obstacle'>) {
  const name = task.name || task.id;
  if (!knows(task.id)) return <span>{name}</span>;
  return (
    <button type="button" className="link" onClick={() => onSelect(task.id)}>
      {task.status === 'Canceled' ? `${name} (canceled)` : name}
    </button>
  );
}

function tasksOf(obstacle: Obstacle): readonly NamedTask[] {
  if (obstacle.type === 'parents') return obstacle.parents;
  return obstacle.type === 'rule' ? obstacle.holders : [];
}

function moment(time: string): string {
  const at = parseTime(time);
  return at === null ? time : formatAgo(at, Date.now());
}

/** Describes one obstacle; an unknown one, of a newer server, is shown unchanged. */
function describe(obstacle: Obstacle): string {
  switch (obstacle.type) {
    case 'parents':
      return `Waits for ${obstacle.total} ${obstacle.total === 1 ? 'task' : 'tasks'}: `;
    case 'rule': {
      const { fields, kind, used, max } = obstacle;
      const rule = obstacle.rule === 'Capacity' ? 'capacity' : 'concurrency';
      const same = Object.keys(fields).length === 0 ? '' : ` with ${JSON.stringify(fields)}`;
      return `The ${rule} rule of ${kind}${same} is at ${used} of ${max}. Held by: `;
    }
    case 'sequence': {
      const names = obstacle.before.join(', ');
      return `Waiting for its container${names === '' ? '' : `: preceded in its sequence by ${names}`}.`;
    }
    case 'expanding':
      return `${obstacle.created} of the ${obstacle.expected} announced tasks exist.`;
    case 'paused':
      return `Paused ${moment(obstacle.since)}; resume it to continue.`;
    case 'delayed':
      return `Attempt ${obstacle.attempt} starts ${moment(obstacle.until)}.`;
    case 'no_worker': {
      const seen = obstacle.last_seen === null ? '' : `; last seen ${moment(obstacle.last_seen)}`;
      return `No worker for ${obstacle.lane}${seen}.`;
    }
    case 'runner': {
      const { stage, ahead, launching, last_failure } = obstacle;
      if (stage !== 'waiting') return 'Waiting for a runner.';
      const last = last_failure === null ? '' : ` The last launch failed: ${last_failure}.`;
      const requests = ahead === 1 ? 'request is' : 'requests are';
      return `Waiting for a runner: ${ahead} ${requests} ahead of it, ${launching} launching.${last}`;
    }
    case 'queued':
      return `${obstacle.ahead} ${obstacle.ahead === 1 ? 'task is' : 'tasks are'} ahead of it.`;
    case 'delivering': {
      const next = obstacle.next_try_at === null ? '' : `; next try ${moment(obstacle.next_try_at)}`;
      const last = obstacle.last_error === null ? '' : `; last response: ${obstacle.last_error}`;
      return `Its start webhook was tried ${obstacle.tries} times${last}${next}.`;
    }
    default:
      return JSON.stringify(obstacle);
  }
}
