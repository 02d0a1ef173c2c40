import type { ClientContext } from '../output/client-command.ts';
import type { Output, Style } from '@heddle/base/terminal/output';
import { writeFields, writeTable } from '@heddle/base/terminal/table';
import { duration, printable } from '@heddle/base/terminal/text';
import type { Job, JobDetail, JobRun } from '../output/wire.ts';

export interface JobListOptions {
  paused?: boolean;
  page?: number;
  pageSize?: number;
}

export interface JobHistoryOptions {
  state?: JobRun['state'];
  page?: number;
  pageSize?: number;
}

/** Style of each state of a run. */
export const JOB_RUN_LOOKS: Readonly<Record<JobRun['state'], Style>> = {
  Queued: 'yellow',
  Running: 'cyan',
  Succeeded: 'green',
  Failed: 'red',
  Timeout: 'red',
  PartiallyFailed: 'magenta',
  Disabled: 'gray',
  Skipped: 'gray',
};

export async function listJobs({ client, output }: ClientContext, options: JobListOptions): Promise<undefined> {
  const { paused, page, pageSize } = options;
  const jobs = await client.jobs.list({
    ...(paused === undefined ? {} : { paused }),
    ...(page === undefined ? {} : { page }),
    ...(pageSize === undefined ? {} : { page_size: pageSize }),
  });
  output.result(jobs, () => writeJobs(output, jobs));
  return undefined;
}

function writeJobs(output: Output, jobs: readonly Job[]): void {
  if (jobs.length === 0) {
    output.line('no matching jobs');
    return;
  }
  writeTable(
    output,
    [
      { header: 'NAME', value: ({ name }) => name, flexible: true },
      { header: 'CRON', value: ({ cron }) => cron },
      { header: 'TIME ZONE', value: ({ time_zone }) => time_zone },
      { header: 'NEXT RUN', value: nextOf, style: ({ next_run_at }) => (next_run_at === null ? 'gray' : 'reset') },
      {
        header: 'LAST RUN',
        value: ({ last_run }) => last_run?.state ?? '-',
        style: ({ last_run }) => (last_run === null ? 'gray' : JOB_RUN_LOOKS[last_run.state]),
      },
      { header: 'LEFT', value: ({ recurrence }) => (recurrence === null ? 'all' : String(recurrence)), align: 'right' },
      { header: 'OVERLAP', value: ({ overlap }) => overlap },
      { header: 'CATCH-UP', value: ({ catch_up }) => catch_up },
    ],
    jobs,
  );
}

function nextOf({ next_run_at, paused, recurrence }: Omit<Job, 'last_run' | 'recent_runs'>): string {
  if (next_run_at !== null) return next_run_at;
  if (paused) return 'paused';
  return recurrence === 0 ? 'used up' : 'never';
}

export async function showJob(context: ClientContext, _options: unknown, key: string): Promise<undefined> {
  printJob(context, await context.client.jobs.get(key));
  return undefined;
}

/** Shows the state of a job; the whole job, including its workflow, with `--json`. */
export function printJob({ output }: ClientContext, job: JobDetail): void {
  output.result(job, () =>
    writeFields(output, [
      ['id', job.id],
      ['name', job.name],
      ['cron', `${job.cron} (${job.time_zone})`],
      ['next run', nextOf(job)],
      ['reason', job.paused_reason === null ? null : printable(job.paused_reason)],
      ['recurrence', job.recurrence === null ? 'forever' : `${job.recurrence} more`],
      ['overlap', job.overlap],
      ['catch-up', job.catch_up],
      ['created', job.created_at],
      ['updated', job.updated_at],
    ]),
  );
}

export async function showNext(
  { client, output }: ClientContext,
  { count }: { count?: number },
  key: string,
): Promise<undefined> {
  const occurrences = await client.jobs.next(key, count);
  output.result(occurrences, () => {
    if (occurrences.length === 0) output.line('none: it is paused, used up, or has no further occurrence');
    else
      writeTable(
        output,
        [
          { header: 'UTC', value: ({ at }) => at },
          { header: 'LOCAL', value: ({ local }) => local },
        ],
        occurrences,
      );
  });
  return undefined;
}

export async function showHistory(
  { client, output }: ClientContext,
  options: JobHistoryOptions,
  key: string,
): Promise<undefined> {
  const { state, page, pageSize } = options;
  const runs = await client.jobs.history(key, {
    ...(state === undefined ? {} : { state }),
    ...(page === undefined ? {} : { page }),
    ...(pageSize === undefined ? {} : { page_size: pageSize }),
  });
  output.result(runs, () => writeRuns(output, runs));
  return undefined;
}

function writeRuns(output: Output, runs: readonly JobRun[]): void {
  if (runs.length === 0) {
    output.line('no matching runs');
    return;
  }
  writeTable(
    output,
    [
      { header: 'SCHEDULED FOR', value: ({ scheduled_for }) => scheduled_for },
      { header: 'STATE', value: ({ state }) => state, style: ({ state }) => JOB_RUN_LOOKS[state] },
      { header: 'BY', value: ({ trigger }) => trigger },
      { header: 'RAN', value: (run) => ranOf(run, output.clock.now()), align: 'right' },
      { header: 'WORKFLOW', value: ({ workflow_id }) => workflow_id ?? '-' },
      { header: 'TASKS', value: tasksOf, flexible: true },
      { header: 'REASON', value: ({ reason }) => reason ?? '', flexible: true },
    ],
    runs,
  );
}

function ranOf({ started_at, completed_at }: JobRun, now: number): string {
  if (started_at === null) return '-';
  return duration((completed_at === null ? now : Date.parse(completed_at)) - Date.parse(started_at));
}

function tasksOf({ task_counts }: JobRun): string {
  if (task_counts === null) return '-';
  const counts = Object.entries(task_counts).map(([state, count]) => `${count} ${state}`);
  return counts.join(', ');
}
