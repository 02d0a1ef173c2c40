import type { Attention } from '@heddle/client';
import { Link } from 'wouter';
import { jobAddress } from '../data/addresses.ts';
import { Ago } from '../ui/time.tsx';

interface AttentionListProps {
  items: readonly Attention[];
  /** Where an item leads; null: nowhere. */
  targetOf?: (item: Attention) => Target | null;
}

/** What is wrong, what to do about it, and where. */
export function AttentionList({ items, targetOf = placeOf }: AttentionListProps) {
  return (
    <ul className="attention">
      {items.map((item, i) => (
        <AttentionItem key={`${item.type} ${i}`} item={item} target={targetOf(item)} />
      ))}
    </ul>
  );
}

function AttentionItem({ item, target }: { item: Attention; target: Target | null }) {
  const { severity, title, remedy, since } = item;
  return (
    <li data-severity={severity}>
      <svg className="attention-sign" viewBox="0 0 16 16" width="16" height="16" role="img" aria-label={severity}>
        {severity === 'error' ? (
          <path d="M8 1.5L15 14H1zM8 6v4M8 11.6v.6" />
        ) : (
          <path d="M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M8 4.6v4M8 10.9v.6" />
        )}
      </svg>
      <div className="attention-text">
        <p className="attention-title">{target === null ? title : <Link href={target.href}>{title}</Link>}</p>
        <p className="quiet">{remedy}</p>
      </div>
      <span className="attention-side quiet">
        {since !== null && <Ago at={since} />}
        {target !== null && <Link href={target.href}>{target.label}</Link>}
      </span>
    </li>
  );
}

export interface Target {
  href: string;
  label: string;
}

const query = encodeURIComponent;

/** The view that shows the cause and offers the remedy. */
function placeOf(item: Attention): Target {
  const { type, task_id, run_id, queue, worker, slot_id, origin } = item;
  switch (type) {
    case 'no_worker':
      return task_id === undefined
        ? { href: `/runs?kind=${query(item.kind ?? '')}&state=open`, label: 'Runs' }
        : { href: `/tasks/${task_id}`, label: 'Task' };
    case 'dead_letters':
      return { href: `/queues?open=${query(queue ?? '')}`, label: 'Queue' };
    case 'lost_worker':
      return { href: `/workers?open=${query(worker ?? '')}`, label: 'Worker' };
    case 'full_rule':
      return { href: `/rules?open=${query(slot_id ?? '')}`, label: 'Rule' };
    case 'job_failed':
    case 'job_missed':
      return run_id === undefined
        ? { href: item.job_id === undefined ? '/schedules' : jobAddress(item.job_id), label: 'Schedule' }
        : { href: `/runs/${run_id}`, label: 'Run' };
    case 'webhook_dead':
      return { href: `/webhooks?state=dead&origin=${query(origin ?? '')}`, label: 'Webhooks' };
    case 'webhook_failing':
      return { href: `/webhooks?state=due&origin=${query(origin ?? '')}`, label: 'Webhooks' };
    case 'runner_launch_failed':
      return { href: '/pool', label: 'Runners' };
    case 'executor_unreachable':
      return { href: '/executors', label: 'Executors' };
  }
}
