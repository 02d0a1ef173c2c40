import { InvalidArgumentError, Option, type Command } from 'commander';

import { clientCommand, processIo, wholeNumber, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { paged } from '../output/list-options.ts';
import type { NewJob } from '../output/wire.ts';
import { backfill, showCalendar, type BackfillOptions, type CalendarOptions } from './job-times.ts';
import { createJob, updateJob, type JobCreateOptions, type JobUpdateOptions } from './job-change.ts';
import {
  JOB_RUN_LOOKS,
  listJobs,
  showHistory,
  showJob,
  showNext,
  printJob,
  type JobHistoryOptions,
  type JobListOptions,
} from './job-show.ts';

const JOB = 'ID or name of the job';
const OVERLAPS = ['skip', 'queue', 'allow'] as const satisfies readonly NewJob['overlap'][];
const CATCH_UPS = ['skip', 'once', 'all'] as const satisfies readonly NewJob['catch_up'][];

/** Adds `heddle job …`. */
export function registerJobCommands(program: Command, io: CommandIo = processIo): void {
  const job = program.command('job').description('Create and manage jobs: workflows on a schedule');
  addCreate(job, io);
  addUpdate(job, io);
  addReads(job, io);
  addSwitches(job, io);
  addTimes(job, io);
}

const MOMENT = 'a date, or a time such as 2026-01-31T08:00:00Z';

function addTimes(job: Command, io: CommandIo): void {
  clientCommand<CalendarOptions>(
    job
      .command('calendar')
      .description('Show what jobs started and will start')
      .option('--since <moment>', `Begin of the range, ${MOMENT} (default a day ago)`)
      .option('--until <moment>', `End of the range, ${MOMENT} (default in a week)`),
    io,
    showCalendar,
  );
  clientCommand<BackfillOptions>(
    job
      .command('backfill')
      .description('Start a run for each occurrence in a range of the past')
      .argument('<job>', JOB)
      .requiredOption('--since <moment>', `Begin of the range, ${MOMENT}`)
      .requiredOption('--until <moment>', `End of the range, ${MOMENT}`)
      .option('--dry-run', 'Show the occurrences and start nothing'),
    io,
    backfill,
  );
}

function addCreate(job: Command, io: CommandIo): void {
  const create = job
    .command('create')
    .description('Create a job that starts a workflow on a schedule')
    .argument('<name>', 'Unique name of the job')
    .requiredOption('--cron <expression>', "Schedule: 5 or 6 fields, such as '30 2 * * MON-FRI', or @hourly, @daily, …")
    .requiredOption('--workflow <file>', 'JSON file with { "name", "root" }; - reads standard input');
  clientCommand<JobCreateOptions>(scheduleOptions(create, true).option('--paused', 'Create it paused'), io, createJob);
}

function addUpdate(job: Command, io: CommandIo): void {
  const update = job
    .command('update')
    .description('Change a job; a new schedule applies from now on')
    .argument('<job>', JOB)
    .option('--name <name>', 'New unique name of the job')
    .option('--cron <expression>', 'Schedule: 5 or 6 fields or a nickname')
    .option('--workflow <file>', 'JSON file with { "name", "root" }; - reads standard input');
  clientCommand<JobUpdateOptions>(scheduleOptions(update, false), io, updateJob);
}

function scheduleOptions(command: Command, isNew: boolean): Command {
  const defaulted = (text: string): string => (isNew ? text : '');
  return command
    .option('--time-zone <name>', `IANA time zone of the expression${defaulted('; default UTC')}`)
    .option('--recurrence <n>', `Remaining number of runs, or "forever"${defaulted(' (default)')}`, recurrenceOf)
    .addOption(
      new Option('--overlap <policy>', `Occurrence while a run is unfinished${defaulted('; default skip')}`).choices(
        OVERLAPS,
      ),
    )
    .addOption(
      new Option(
        '--catch-up <policy>',
        `Occurrences missed while no server was running${defaulted('; default once')}`,
      ).choices(CATCH_UPS),
    );
}

/** Strings, since commander takes null for an absent value. */
function recurrenceOf(text: string): number | 'forever' {
  if (text === 'forever') return text;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new InvalidArgumentError('It must be a whole number, or forever.');
  return value;
}

function addReads(job: Command, io: CommandIo): void {
  clientCommand<JobListOptions>(
    paged(job.command('list').description('List jobs by name').option('--paused', 'Only paused jobs'), 'jobs'),
    io,
    listJobs,
  );
  clientCommand(
    job.command('get').description('Show a job; --json includes its workflow').argument('<job>', JOB),
    io,
    showJob,
  );
  clientCommand<{ count?: number }>(
    job
      .command('next')
      .description('Show the next occurrences of a job')
      .argument('<job>', JOB)
      .option('--count <n>', 'Number of occurrences (default 5)', wholeNumber(1, 100)),
    io,
    showNext,
  );
  clientCommand<JobHistoryOptions>(
    paged(
      job
        .command('history')
        .description('Show the outcome of each occurrence, latest first')
        .argument('<job>', JOB)
        .addOption(new Option('--state <state>', 'Only in this state').choices(Object.keys(JOB_RUN_LOOKS))),
      'runs',
    ),
    io,
    showHistory,
  );
}

function addSwitches(job: Command, io: CommandIo): void {
  const on = (name: string, description: string) => job.command(name).description(description).argument('<job>', JOB);
  clientCommand(on('pause', 'Pause the schedule of a job until it is resumed'), io, pause);
  clientCommand(on('resume', 'Resume a job from its next occurrence'), io, resume);
  clientCommand(on('trigger', 'Start a job now, regardless of its schedule'), io, trigger);
  clientCommand(on('delete', 'Delete a job and its history; keep the workflows it started'), io, remove);
}

async function pause(context: ClientContext, _options: unknown, key: string): Promise<undefined> {
  printJob(context, await context.client.jobs.pause(key));
  return undefined;
}

async function resume(context: ClientContext, _options: unknown, key: string): Promise<undefined> {
  printJob(context, await context.client.jobs.resume(key));
  return undefined;
}

async function trigger({ client, output }: ClientContext, _options: unknown, key: string): Promise<undefined> {
  const run = await client.jobs.trigger(key);
  output.result(run, () =>
    output.line(
      run.workflow_id === null
        ? `run ${run.id} is waiting for the previous run`
        : `run ${run.id} started as workflow ${run.workflow_id}`,
    ),
  );
  return undefined;
}

async function remove({ client, output }: ClientContext, _options: unknown, key: string): Promise<undefined> {
  await client.jobs.remove(key);
  output.result({ job: key, deleted: true }, () => output.line(`deleted job ${key}`));
  return undefined;
}
