import type { Explanation, Task } from '@heddle/client';
import { Link } from 'wouter';
import { tasks } from '../api/tasks.ts';
import { numbered } from '../data/bulk.ts';
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
  const { total, total_capped, tasks: first } = data.dependents;
  const more = total - first.length;
  return (
    <Section title={isDone ? 'After it' : 'Holds up'} testId="held-up">
      <p>{wordsOf(data.dependents, isDone)}</p>
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

function wordsOf({ total, total_capped, held_up }: Explanation['dependents'], isDone: boolean): string {
  const all = total_capped ? `More than ${numbered(total, 'task')}` : numbered(total, 'task');
  if (isDone) return `${all} ${total === 1 ? 'comes' : 'come'} after it.`;
  if (held_up === 0) return `${all} after it, none of which waits.`;
  const held = held_up === total && !total_capped ? all : `${held_up.toLocaleString()} of ${all.toLowerCase()}`;
  return `${held} after it ${held_up === 1 ? 'waits' : 'wait'}, or failed because of what is before.`;
}
