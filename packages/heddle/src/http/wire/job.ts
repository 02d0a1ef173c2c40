import { Type, type Static } from 'typebox';

import {
  CATCH_UP_MAX,
  CATCH_UP_POLICIES,
  JOB_RUN_STATES,
  OVERLAP_POLICIES,
  RUN_TRIGGERS,
  type CatchUpPolicy,
  type Job,
  type JobChange,
  type JobRun,
  type JobRunState,
  type JobWithDefinition,
  type ListedJob,
  type NewJob,
  type OverlapPolicy,
  type WorkflowDefinition,
} from '@heddle/core/domain/schedule';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import { WORKFLOW_WIRE_STATE, type WorkflowWireState } from '@heddle/base/vocabulary/workflow';
import { REFERENCE_NAME } from './action.ts';
import { COUNT_MAX, isoTime, isoTimeOrNull, Metadata, nullable, oneOf, Timestamp, Uuid } from './basics.ts';
import { NewWorkflowDto } from './new-workflow.ts';

const NAME_MEANING = '1 to 100 of the characters A-Z a-z 0-9 . _ -, the first a letter or digit';
export const TIME_ZONE_DEFAULT = 'UTC';

/** The schedule of a job. */
export const ScheduleMembers = {
  cron: Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'Minute, hour, day of month, month, weekday, preceded by seconds if there are six fields; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.',
    examples: ['30 2 * * MON-FRI'],
  }),
  time_zone: Type.String({
    minLength: 1,
    maxLength: 100,
    default: TIME_ZONE_DEFAULT,
    description: 'IANA time zone of the expression.',
    examples: ['Europe/Berlin'],
  }),
};

const members = {
  name: Type.String({
    pattern: REFERENCE_NAME,
    patternMeaning: NAME_MEANING,
    description: 'Can be used instead of the id; unique, and not in the form of an id.',
  }),
  ...ScheduleMembers,
  recurrence: nullable(
    Type.Integer({
      minimum: 0,
      maximum: COUNT_MAX,
      description: 'Remaining number of scheduled runs: 0 for none; null for unlimited.',
    }),
  ),
  overlap: Type.Unsafe<OverlapPolicy>(
    oneOf([...OVERLAP_POLICIES], {
      default: 'skip',
      description:
        'While a run is unfinished, an occurrence is dropped (`skip`), waits for its end, one at most (`queue`), or starts concurrently (`allow`).',
    }),
  ),
  catch_up: Type.Unsafe<CatchUpPolicy>(
    oneOf([...CATCH_UP_POLICIES], {
      default: 'once',
      description: `Occurrences missed while no server was running: none runs (\`skip\`), one run replaces all (\`once\`), each runs, at most the latest ${CATCH_UP_MAX} (\`all\`).`,
    }),
  ),
  paused: Type.Boolean({ default: false, description: 'Its schedule starts nothing until it is resumed.' }),
};

/** For the API description; `WorkflowNode` is recursive, so handlers check bodies against the schemas below. */
const { name, cron, ...settings } = members;
const optional = {
  time_zone: Type.Optional(settings.time_zone),
  recurrence: Type.Optional(settings.recurrence),
  overlap: Type.Optional(settings.overlap),
  catch_up: Type.Optional(settings.catch_up),
};
const created = { name, cron, ...optional, paused: Type.Optional(settings.paused) };
const changed = { name: Type.Optional(name), cron: Type.Optional(cron), ...optional };
const closed = { additionalProperties: false };
/** The engine checks the workflow itself and names each fault in it. */
const uncheckedWorkflow = Type.Unsafe<WorkflowDefinition>(Type.Record(Type.String(), Type.Unknown()));

export const NewJobDto = Type.Object({ ...created, workflow: NewWorkflowDto }, { ...closed, title: 'NewJobDto' });
export type NewJobDto = Static<typeof NewJobDto>;
export const NewJobFields = Type.Object({ ...created, workflow: uncheckedWorkflow }, closed);

export const JobChangeDto = Type.Object(
  { ...changed, workflow: Type.Optional(NewWorkflowDto) },
  { ...closed, minProperties: 1, title: 'JobChangeDto', description: 'Absent members stay unchanged.' },
);
export type JobChangeDto = Static<typeof JobChangeDto>;
export const JobChangeFields = Type.Object(
  { ...changed, workflow: Type.Optional(uncheckedWorkflow) },
  { ...closed, minProperties: 1 },
);

const shown = {
  id: Uuid('The job.'),
  ...members,
  paused_reason: nullable(Type.String({ description: 'Why it was paused automatically.' })),
  next_run_at: nullable(Timestamp('Its next occurrence; null while it is paused or used up')),
  created_at: Timestamp('When it was created'),
  updated_at: Timestamp('When it was last changed'),
};
export const JobDetailDto = Type.Object(
  { ...shown, workflow: Metadata('The workflow that it starts, as it was given.') },
  { ...closed, title: 'JobDetailDto' },
);
export type JobDetailDto = Static<typeof JobDetailDto>;

export const OccurrenceDto = Type.Object(
  {
    at: Timestamp('The time'),
    local: Type.String({
      description: 'The same time in the time zone of the job.',
      examples: ['2026-03-29T03:00:00+02:00'],
    }),
  },
  { ...closed, title: 'OccurrenceDto' },
);
export type OccurrenceDto = Static<typeof OccurrenceDto>;

export const RunState = Type.Unsafe<JobRunState>(
  oneOf([...JOB_RUN_STATES], {
    description: '`Queued` waits for the previous run; `Skipped` never ran; else the state of its workflow.',
  }),
);

export const JobRunDto = Type.Object(
  {
    id: Uuid('The run.'),
    job_id: Uuid('Its job.'),
    trigger: oneOf([...RUN_TRIGGERS]),
    scheduled_for: Timestamp('The occurrence; for a manual run, when it was requested'),
    state: RunState,
    reason: nullable(
      Type.String({
        description: 'Why it was skipped or could not start; of a failed run, its first failed task with its reason.',
      }),
    ),
    workflow_id: nullable(Uuid('The workflow that it started.')),
    started_at: nullable(Timestamp('When it was started')),
    completed_at: nullable(Timestamp('When its workflow ended')),
    task_counts: nullable(
      Type.Record(Type.String(), Type.Integer(), { description: 'Tasks of its workflow by state, at its end.' }),
    ),
  },
  { ...closed, title: 'JobRunDto' },
);
export type JobRunDto = Static<typeof JobRunDto>;

export const RECENT_RUNS_MAX = 20;

export const JobDto = Type.Object(
  {
    ...shown,
    last_run: nullable(JobRunDto),
    recent_runs: Type.Array(JobRunDto, { description: 'Latest first, as many as the query asks for.' }),
  },
  {
    ...closed,
    title: 'JobDto',
    description: '`last_run`: the latest entry of its history; null if it never started.',
  },
);
export type JobDto = Static<typeof JobDto>;

export function newJobFromWire(dto: Static<typeof NewJobFields>): NewJob {
  const { time_zone = TIME_ZONE_DEFAULT, recurrence = null, overlap = 'skip', catch_up = 'once', paused = false } = dto;
  return { name: dto.name, cron: dto.cron, time_zone, recurrence, overlap, catch_up, paused, workflow: dto.workflow };
}

export function jobChangeFromWire(dto: Static<typeof JobChangeFields>): JobChange {
  return dto;
}

export function jobToWire(job: ListedJob): JobDto {
  const last_run = job.last_run === null ? null : jobRunToWire(job.last_run);
  return { ...settingsToWire(job), last_run, recent_runs: job.recent_runs.map(jobRunToWire) };
}

function settingsToWire(job: Job): Omit<JobDto, 'last_run' | 'recent_runs'> {
  const { id, paused_reason, next_run_at, created_at, updated_at } = job;
  return {
    id,
    name: job.name,
    cron: job.cron,
    time_zone: job.time_zone,
    recurrence: job.recurrence,
    overlap: job.overlap,
    catch_up: job.catch_up,
    paused: job.paused,
    paused_reason,
    next_run_at: isoTimeOrNull(next_run_at),
    created_at: isoTime(created_at),
    updated_at: isoTime(updated_at),
  };
}

export function jobDetailToWire(job: JobWithDefinition): JobDetailDto {
  return { ...settingsToWire(job), workflow: job.workflow };
}

export function jobRunToWire(run: JobRun): JobRunDto {
  return {
    id: run.id,
    job_id: run.job_id,
    trigger: run.trigger,
    scheduled_for: isoTime(run.scheduled_for),
    state: run.state,
    reason: run.reason,
    workflow_id: run.workflow_id,
    started_at: isoTimeOrNull(run.started_at),
    completed_at: isoTimeOrNull(run.completed_at),
    task_counts: run.counts === null ? null : wireCounts(run.counts),
  };
}

function wireCounts(counts: Partial<Record<TaskState, number>>): Partial<Record<WorkflowWireState, number>> {
  const byState: Partial<Record<WorkflowWireState, number>> = {};
  for (const [state, count] of Object.entries(counts) as [TaskState, number][]) {
    const wire = WORKFLOW_WIRE_STATE[state];
    byState[wire] = (byState[wire] ?? 0) + count;
  }
  return byState;
}

export function occurrenceToWire(ms: number, timeZone: string): OccurrenceDto {
  return { at: isoTime(ms), local: localTime(ms, timeZone) };
}

/** RFC 3339 with the offset of the time zone at that time. */
function localTime(ms: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  });
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const offset = (parts['timeZoneName'] ?? '').replace('GMT', '') || '+00:00';
  const { year = '', month = '', day = '', hour = '', minute = '', second = '' } = parts;
  return `${year.padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}${offset}`;
}
