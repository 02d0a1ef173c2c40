import { writeTable } from '@heddle/base/terminal/table';
import type { ClientContext } from '../output/client-command.ts';
import { given } from '../output/list-options.ts';
import { JOB_RUN_LOOKS } from './job-show.ts';

export interface CalendarOptions {
  since?: string;
  until?: string;
}

export interface BackfillOptions {
  since: string;
  until: string;
  dryRun?: boolean;
}

export async function showCalendar({ client, output }: ClientContext, range: CalendarOptions): Promise<undefined> {
  const { since, until } = range;
  const { entries, left_out } = await client.jobs.calendar(given({ since, until }));
  output.result(entries, () => {
    if (entries.length === 0) {
      output.line('no job starts in this range');
      return;
    }
    writeTable(
      output,
      [
        { header: 'AT', value: ({ at }) => at },
        { header: 'JOB', value: ({ job_name }) => job_name, flexible: true },
        {
          header: 'STATE',
          value: ({ state }) => state ?? 'next',
          style: ({ state }) => (state === null ? 'gray' : JOB_RUN_LOOKS[state]),
        },
        { header: 'WORKFLOW', value: ({ run_id }) => run_id ?? '-' },
        { header: 'REASON', value: ({ reason }) => reason ?? '', flexible: true },
      ],
      entries,
    );
  });
  if (left_out > 0) output.notice(`${left_out} more are left out; give a shorter range`);
  return undefined;
}

export async function backfill(
  { client, output }: ClientContext,
  { since, until, dryRun = false }: BackfillOptions,
  job: string,
): Promise<undefined> {
  const answer = await client.jobs.backfill(job, { since, until, dry_run: dryRun });
  const { occurrences, started } = answer;
  output.result(answer, () => {
    for (const at of occurrences) output.line(at);
    const found = `${occurrences.length} occurrence${occurrences.length === 1 ? '' : 's'}`;
    output.line(dryRun ? `${found}; nothing was started` : `${found}, ${started} runs started or waiting`);
  });
  return undefined;
}
