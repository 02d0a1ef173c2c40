import type { Attention } from '@heddle/client';
import { getHome } from '../api/runs.ts';
import { useLive } from '../data/live.ts';
import { Section } from '../ui/page.tsx';
import { AttentionList } from './attention-list.tsx';
import type { Target } from './attention-list.tsx';

/** What needs attention at this place, with its remedy; nothing if all is well. */
export function AttentionBand({ types }: { types: readonly Attention['type'][] }) {
  const { data } = useLive(['home'], getHome);
  const items = data?.attention.filter(({ type }) => types.includes(type)) ?? [];
  if (items.length === 0) return null;
  return (
    <div className="attention-band">
      <Section title="Needs attention" testId="attention">
        <AttentionList items={items} targetOf={fromThere} />
      </Section>
    </div>
  );
}

/** The place itself is open, so the items lead on to the task or run behind them. */
function fromThere({ task_id, run_id }: Attention): Target | null {
  if (task_id !== undefined) return { href: `/tasks/${task_id}`, label: 'Task' };
  return run_id === undefined ? null : { href: `/runs/${run_id}`, label: 'Run' };
}
