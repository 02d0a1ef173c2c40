import { Type } from 'typebox';

import { idempotencyOf, readIdempotencyKey } from '../submit/submission.ts';
import { isoTime } from '../wire/basics.ts';
import { OccurrenceDto, occurrenceToWire, ScheduleMembers, TIME_ZONE_DEFAULT } from '../wire/job.ts';
import { BackfillDto, BackfillResultDto, CalendarEntryDto, calendarEntryToWire } from '../wire/job-times.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { timeFilter, timeOf } from './filters.ts';
import { COUNT_DEFAULT, foundJob, JobParameters, occurrenceCount } from './jobs.ts';
import { NoQuery } from './parameters.ts';

const DAY_MS = 86_400_000;
/** By default a calendar shows yesterday and the week to come. */
const SINCE_DAYS = 1;
const UNTIL_DAYS = 7;

/** Routes about the occurrences of jobs, past and to come. */
export function jobTimeRoutes(app: App, context: RouteContext): void {
  calendarRoute(app, context);
  previewRoute(app, context);
  backfillRoute(app, context);
}

function calendarRoute(app: App, { jobs, clock }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/jobs/calendar',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get what jobs started and will start',
        description: `Oldest first, at most 2,000 entries: those of the histories, and the next occurrences. The header
\`X-Left-Out\` has the number of further ones.`,
        tag: 'Jobs',
        scope: 'read',
        answers: {
          200: {
            description: 'The entries.',
            schema: Type.Array(CalendarEntryDto),
            headers: { 'X-Left-Out': 'Number of further entries; of those to come at most 2,000 are counted.' },
          },
        },
      }),
      querystring: Type.Object(
        {
          since: timeFilter('Only at or after this time; by default a day ago'),
          until: timeFilter('Only until this time; by default in a week'),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }, reply) => {
      const now = clock.now();
      const { entries, left_out } = await jobs.calendar({
        since: query.since === undefined ? now - SINCE_DAYS * DAY_MS : timeOf('since', query.since),
        until: query.until === undefined ? now + UNTIL_DAYS * DAY_MS : timeOf('until', query.until),
      });
      void reply.header('x-left-out', String(left_out));
      return entries.map(calendarEntryToWire);
    },
  });
}

function previewRoute(app: App, { jobs }: RouteContext): void {
  const { cron, time_zone } = ScheduleMembers;
  app.route({
    method: 'GET',
    url: '/v1/occurrences',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get the next occurrences of a schedule',
        description: 'Checks an expression before a job is created with it.',
        tag: 'Jobs',
        scope: 'read',
        answers: { 200: { description: 'Soonest first.', schema: Type.Array(OccurrenceDto) } },
      }),
      querystring: Type.Object(
        { cron, time_zone: Type.Optional(time_zone), count: occurrenceCount },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query: { cron: expression, time_zone: zone = TIME_ZONE_DEFAULT, count = COUNT_DEFAULT } }) => {
      return (await jobs.preview(expression, zone, count)).map((time) => occurrenceToWire(time, zone));
    },
  });
}

function backfillRoute(app: App, { jobs }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/jobs/:job/backfill',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Start runs of occurrences that passed',
        description: `Starts one run for each occurrence of the schedule in a range of the past, at most 1,000, whether or not it ran
before; \`scheduled_for\` of a run is its occurrence. They wait for one another, oldest first, unless the overlap policy is \`allow\`.
Works even if the job is paused or used up; its recurrence is unchanged. With the header \`Idempotency-Key\` a repeat starts nothing.`,
        tag: 'Jobs',
        scope: 'operate',
        answers: { 202: { description: 'The occurrences.', schema: BackfillResultDto } },
        problems: [404, 413, 415, 422],
      }),
      params: JobParameters,
      querystring: NoQuery,
      body: BackfillDto,
    },
    handler: async ({ params: { job }, body, headers }, reply) => {
      const { since, until, dry_run = false } = body;
      const idempotency = idempotencyOf(readIdempotencyKey(headers['idempotency-key']), { job, since, until });
      const timeIn = (name: string, text: string): number => timeOf(name, text, 'VALIDATION_FAILED');
      const range = { since: timeIn('since', since), until: timeIn('until', until) };
      const { occurrences, started } = foundJob(job, await jobs.backfill(job, { ...range, dry_run, idempotency }));
      return reply.code(202).send({ occurrences: occurrences.map(isoTime), started });
    },
  });
}
