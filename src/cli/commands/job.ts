import { InvalidArgumentError, Option, type Command } from 'commander';

import { clientCommand, processIo, wholeNumber, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { paged } from '../output/list-options.ts';
import type { NewJob } from '../output/wire.ts';
import { createJob, updateJob, type JobCreateOptions, type JobUpdateOptions } from './job-change.ts';
import {
  JOB_RUN_LOOKS,
  listJobs,
  showHistory,
  showJob,
  showNext,
  tellJob,
  type JobHistoryOptions,
  type JobListOptions,
} from './job-show.ts';

const JOB = 'id or name of the job';
const OVERLAPS = ['skip', 'queue', 'allow'] as const satisfies readonly NewJob['overlap'][];
const CATCH_UPS = ['skip', 'once', 'all'] as const satisfies readonly NewJob['catch_up'][];

/** Adds `heddle job …`. */
export function registerJobCommands(program: Command, io: CommandIo = processIo): void {
  const job = program.command('job').description('workflows that start by a schedule');
  addCreate(job, io);
  addUpdate(job, io);
  addReads(job, io);
  addSwitches(job, io);
}

function addCreate(job: Command, io: CommandIo): void {
  const create = job
    .command('create')
    .description('start a workflow by a schedule from now on')
    .argument('<name>', 'what it is called; unique')
    .requiredOption('--cron <expression>', "when: 5 or 6 fields, such as '30 2 * * MON-FRI', or @hourly, @daily, …")
    .requiredOption('--workflow <file>', 'JSON file with { "name", "root" }; - reads standard input');
  clientCommand<JobCreateOptions>(
    scheduleOptions(create, true).option('--paused', 'start nothing until it is resumed'),
    io,
    createJob,
  );
}

function addUpdate(job: Command, io: CommandIo): void {
  const update = job
    .command('update')
    .description('change what is named; a new schedule counts from now on')
    .argument('<job>', JOB)
    .option('--name <name>', 'what it shall be called')
    .option('--cron <expression>', 'when: 5 or 6 fields or a nickname')
    .option('--workflow <file>', 'JSON file with { "name", "root" }; - reads standard input');
  clientCommand<JobUpdateOptions>(scheduleOptions(update, false), io, updateJob);
}

function scheduleOptions(command: Command, isNew: boolean): Command {
  const defaulted = (text: string): string => (isNew ? text : '');
  return command
    .option('--time-zone <name>', `IANA time zone of the expression${defaulted('; default UTC')}`)
    .option('--recurrence <n>', `how many more times it starts, or "forever"${defaulted(' (default)')}`, recurrenceOf)
    .addOption(
      new Option('--overlap <policy>', `an occurrence while a run has not ended${defaulted('; default skip')}`).choices(
        OVERLAPS,
      ),
    )
    .addOption(
      new Option(
        '--catch-up <policy>',
        `occurrences that passed while no server was there${defaulted('; default once')}`,
      ).choices(CATCH_UPS),
    );
}

/** Words, since the command line's library takes null for nothing given. */
function recurrenceOf(text: string): number | 'forever' {
  if (text === 'forever') return text;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new InvalidArgumentError('It must be a whole number, or forever.');
  return value;
}

function addReads(job: Command, io: CommandIo): void {
  clientCommand<JobListOptions>(
    paged(
      job.command('list').description('list jobs by name').option('--paused', 'only those that are paused'),
      'jobs',
    ),
    io,
    listJobs,
  );
  clientCommand(
    job.command('get').description('show a job; its workflow with --json').argument('<job>', JOB),
    io,
    showJob,
  );
  clientCommand<{ count?: number }>(
    job
      .command('next')
      .description('show its next occurrences')
      .argument('<job>', JOB)
      .option('--count <n>', 'how many; 5 by default', wholeNumber(1, 100)),
    io,
    showNext,
  );
  clientCommand<JobHistoryOptions>(
    paged(
      job
        .command('history')
        .description('show what became of each occurrence, the latest first')
        .argument('<job>', JOB)
        .addOption(new Option('--state <state>', 'only those of this state').choices(Object.keys(JOB_RUN_LOOKS))),
      'runs',
    ),
    io,
    showHistory,
  );
}

function addSwitches(job: Command, io: CommandIo): void {
  const on = (name: string, description: string) => job.command(name).description(description).argument('<job>', JOB);
  clientCommand(on('pause', 'start nothing by its schedule until it is resumed'), io, pause);
  clientCommand(on('resume', 'go on with the next occurrence from now on'), io, resume);
  clientCommand(on('trigger', 'start it now, whatever its schedule says'), io, trigger);
  clientCommand(on('delete', 'remove it with its history; workflows it started stay'), io, remove);
}

async function pause(context: ClientContext, _options: unknown, key: string): Promise<undefined> {
  tellJob(context, await context.client.jobs.pause(key));
  return undefined;
}

async function resume(context: ClientContext, _options: unknown, key: string): Promise<undefined> {
  tellJob(context, await context.client.jobs.resume(key));
  return undefined;
}

async function trigger({ client, output }: ClientContext, _options: unknown, key: string): Promise<undefined> {
  const run = await client.jobs.trigger(key);
  output.result(run, () =>
    output.line(
      run.workflow_id === null
        ? `run ${run.id} waits for the run before it`
        : `run ${run.id} is started: it is workflow ${run.workflow_id}`,
    ),
  );
  return undefined;
}

async function remove({ client, output }: ClientContext, _options: unknown, key: string): Promise<undefined> {
  await client.jobs.remove(key);
  output.result({ job: key, deleted: true }, () => output.line(`job ${key} is gone`));
  return undefined;
}
