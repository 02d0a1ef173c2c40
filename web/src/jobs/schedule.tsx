import type { Job, JobDetail } from '@heddle/client';
import { StateBadge } from '../ui/state.tsx';
import { cronInWords } from './cron-words.ts';
import { ZonedTime } from './zoned-time.tsx';

type Schedule = Pick<Job | JobDetail, 'cron' | 'time_zone' | 'paused' | 'paused_reason' | 'recurrence' | 'next_run_at'>;

/** Whether the schedule starts anything. */
export function JobBadge({ job }: { job: Schedule }) {
  if (job.paused_reason !== null) return <StateBadge state="failed" label="Stopped" />;
  if (job.paused) return <StateBadge state="paused" />;
  if (job.next_run_at === null) return <StateBadge state="succeeded" label="Finished" />;
  return <StateBadge state="pending" label="Scheduled" />;
}

/** The schedule in words, or as its expression if it has none. */
export function ScheduleWords({ job: { cron, time_zone } }: { job: Schedule }) {
  const words = cronInWords(cron);
  return <span title={`${cron} (${time_zone})`}>{words ?? <code>{cron}</code>}</span>;
}

export function NextRun({ job }: { job: Schedule }) {
  const { next_run_at, time_zone, paused, recurrence } = job;
  if (next_run_at !== null) return <ZonedTime at={next_run_at} zone={time_zone} />;
  return <span className="quiet">{paused ? 'after it is resumed' : recurrence === 0 ? 'no runs left' : 'none'}</span>;
}

export const OVERLAP_LABEL: Readonly<Record<Job['overlap'], string>> = {
  skip: 'Skip the occurrence',
  queue: 'Wait for its end, one at most',
  allow: 'Start another one',
};

export const CATCH_UP_LABEL: Readonly<Record<Job['catch_up'], string>> = {
  skip: 'Skip them',
  once: 'Run once for all',
  all: 'Run each, at most the latest 100',
};
