import type { Task } from '@heddle/client';
import { Link } from 'wouter';
import { tasks } from '../api/tasks.ts';
import { useLive } from '../data/live.ts';
import { Section } from '../ui/page.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { stateOf } from '../ui/state.ts';

const EVERY_MS = 3000;

/** What comes after a task: what it holds up while it has not succeeded. */
export function HeldUp({ task: { id, status } }: { task: Task }) {
  const isDone = status === 'Success';
  const { data } = useLive(['explain', id, status], (signal) => tasks.explain(id, signal), {
    every: isDone ? false : EVERY_MS,
  });
  if (data === undefined || data.dependents.total === 0) return null;
  const { total, total_capped, held_up, tasks: first } = data.dependents;
  const all = `${total.toLocaleString()}${total_capped ? '+' : ''}`;
  const words = isDone
    ? `${all} ${total === 1 ? 'task comes' : 'tasks come'} after it.`
    : held_up === 0
      ? `None of the ${all} tasks after it waits for it.`
      : `${held_up.toLocaleString()} of ${all} ${total === 1 ? 'task' : 'tasks'} after it wait for it, or failed because of it.`;
  const more = total - first.length;
  return (
    <Section title={isDone ? 'After it' : 'Holds up'} testId="held-up">
      <p>{words}</p>
      <p className="held-up">
        {first.map((each) => (
          <span key={each.id} className="named-task">
            <StateGlyph state={stateOf(each.status)} size={13} /> <Link href={`/tasks/${each.id}`}>{each.name}</Link>
          </span>
        ))}
        {more > 0 && (
          <span className="quiet">
            and {more.toLocaleString()}
            {total_capped && '+'} more
          </span>
        )}
      </p>
    </Section>
  );
}
