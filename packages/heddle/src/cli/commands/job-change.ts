import type { Readable } from 'node:stream';

import type { ClientContext } from '../output/client-command.ts';
import { UsageFailure } from '../output/failure.ts';
import { readJsonFile, sourceName } from '../output/json-file.ts';
import { printable } from '@heddle/base/terminal/text';
import type { JobChange, NewJob, StoredJob } from '../output/wire.ts';
import { printJob } from './job-show.ts';

interface ScheduleOptions {
  timeZone?: string;
  recurrence?: number | 'forever';
  overlap?: NonNullable<NewJob['overlap']>;
  catchUp?: NonNullable<NewJob['catch_up']>;
}

export interface JobCreateOptions extends ScheduleOptions {
  cron: string;
  workflow: string;
  paused?: boolean;
}

export interface JobUpdateOptions extends ScheduleOptions {
  name?: string;
  cron?: string;
  workflow?: string;
}

export async function createJob(context: ClientContext, options: JobCreateOptions, name: string): Promise<undefined> {
  const { cron, workflow: file, paused } = options;
  const job: NewJob = {
    name,
    cron,
    ...scheduleOf(options),
    ...(paused === undefined ? {} : { paused }),
    workflow: await readWorkflow(file, context.io.stdin),
  };
  printStored(context, await context.client.jobs.create(job));
  return undefined;
}

export async function updateJob(context: ClientContext, options: JobUpdateOptions, key: string): Promise<undefined> {
  const { name, cron, workflow: file } = options;
  const change: JobChange = {
    ...(name === undefined ? {} : { name }),
    ...(cron === undefined ? {} : { cron }),
    ...scheduleOf(options),
    ...(file === undefined ? {} : { workflow: await readWorkflow(file, context.io.stdin) }),
  };
  if (Object.keys(change).length === 0) {
    throw new UsageFailure('no changes given', {
      hint: 'give at least one option, such as: heddle job update JOB --cron @hourly',
    });
  }
  printStored(context, await context.client.jobs.update(key, change));
  return undefined;
}

function printStored(context: ClientContext, job: StoredJob): void {
  printJob(context, job);
  for (const { message } of job.warnings) context.output.notice(`warning: ${printable(message)}`);
}

function scheduleOf({ timeZone, recurrence, overlap, catchUp }: ScheduleOptions) {
  return {
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
    ...(recurrence === undefined ? {} : { recurrence: recurrence === 'forever' ? null : recurrence }),
    ...(overlap === undefined ? {} : { overlap }),
    ...(catchUp === undefined ? {} : { catch_up: catchUp }),
  };
}

const FORM = 'a workflow is an object: { "root": { "mode": "sequential", "children": [{ "kind": "demo" }] } }';

/** The server checks its nodes; this error would not name the file if it came from the server. */
async function readWorkflow(file: string, stdin: Readable): Promise<NewJob['workflow']> {
  const value = await readJsonFile(file, stdin, FORM);
  if (typeof value === 'object' && value !== null && 'root' in value) return value as NewJob['workflow'];
  throw new UsageFailure(`${sourceName(file)} does not contain a workflow`, { hint: FORM });
}
