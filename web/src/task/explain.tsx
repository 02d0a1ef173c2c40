import type { Explanation } from '@heddle/client';
import { Link } from 'wouter';
import { tasks } from '../api/tasks.ts';
import { addressOf } from '../data/addresses.ts';
import { useLive } from '../data/live.ts';
import { ProblemBox } from '../ui/problem.tsx';
import { Section } from '../ui/page.tsx';
import { stateOf } from '../ui/state.ts';
import { StateGlyph } from '../ui/glyphs.tsx';
import { formatAgo, parseTime } from '../times.ts';

const EVERY_MS = 3000;

/** Explains why a task is not running: the server's sentence, then what stands in its way, with links. */
export function Explain({ id, status }: { id: string; status: string }) {
  const { data, error } = useLive(['explain', id, status], (signal) => tasks.explain(id, signal), { every: EVERY_MS });
  if (data === undefined && error === null) return null;
  return (
    <Section title={status === 'Running' ? 'Now' : 'Why it is not running'} testId="explain">
      {data === undefined ? (
        <ProblemBox error={error} />
      ) : (
        <>
          <p>{data.summary}</p>
          <ul className="obstacles">
            {data.obstacles.map((obstacle, i) => (
              <ObstacleLine key={i} obstacle={obstacle} />
            ))}
          </ul>
        </>
      )}
    </Section>
  );
}

type Obstacle = Explanation['obstacles'][number];
type NamedTask = Extract<Obstacle, { type: 'rule' }>['holders'][number];

function ObstacleLine({ obstacle }: { obstacle: Obstacle }) {
  return (
    <li>
      {describe(obstacle)}
      {tasksOf(obstacle).map((task) => (
        <span key={task.id} className="named-task">
          <StateGlyph state={stateOf(task.status)} size={13} />{' '}
          <Link href={addressOf({ type: 'task', id: task.id })}>{task.name || task.id}</Link>
        </span>
      ))}
      {obstacle.type === 'no_worker' && <Link href="/workers">Workers</Link>}
      {obstacle.type === 'rule' && <Link href="/rules">Rules</Link>}
      {obstacle.type === 'runner' && <Link href="/pool">Runners</Link>}
    </li>
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
      return `Waits for its container${names === '' ? '' : `: preceded in its sequence by ${names}`}.`;
    }
    case 'expanding':
      return `${obstacle.created} of the ${obstacle.expected} announced tasks exist.`;
    case 'paused':
      return `Paused ${moment(obstacle.since)}; resume it to continue.`;
    case 'delayed':
      return `Attempt ${obstacle.attempt} starts ${moment(obstacle.until)}.`;
    case 'no_worker': {
      const seen = obstacle.last_seen === null ? '' : `; last seen ${moment(obstacle.last_seen)}`;
      const similar = obstacle.never?.did_you_mean ?? null;
      return `No worker for ${obstacle.lane}${seen}.${similar === null ? '' : ` Did you mean ${similar}?`} `;
    }
    case 'runner': {
      const { stage, ahead, launching, last_failure } = obstacle;
      if (stage !== 'waiting') return 'Waits for a runner. ';
      const last = last_failure === null ? '' : ` The last launch failed: ${last_failure}.`;
      const requests = ahead === 1 ? 'request is' : 'requests are';
      return `Waits for a runner: ${ahead} ${requests} ahead of it, ${launching} launching.${last} `;
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
