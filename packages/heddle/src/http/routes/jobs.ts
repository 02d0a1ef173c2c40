import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { placeOf } from '@heddle/base/parse/path';
import { parseWorkflow } from '@heddle/core/domain/parse/workflow';
import { tasksIn } from '@heddle/base/vocabulary/workflow';
import { kindsForWorkers } from '@heddle/core/engine/known-kinds';
import { requireKnownClasses } from '@heddle/core/engine/runners/check';
import { redactRequests } from '@heddle/base/redact';
import { MANY_NODES } from '../body-limits.ts';
import { seesSecrets } from '../request-state.ts';
import { kindsIn, requireCommandScope } from '../submit/check-commands.ts';
import { requireAllowedAddresses, requireAllowedNotifications } from '../submit/check-tree.ts';
import { warnOfKinds } from '../submit/warnings.ts';
import { requireJobFields } from '../submit/job-fields.ts';
import { readIdempotencyKey } from '../submit/submission.ts';
import { REFERENCE_NAME } from '../wire/action.ts';
import {
  JobChangeDto,
  jobChangeFromWire,
  JobChangeFields,
  JobDetailDto,
  jobDetailToWire,
  JobDto,
  JobRunDto,
  jobRunToWire,
  jobToWire,
  NewJobDto,
  newJobFromWire,
  NewJobFields,
  OccurrenceDto,
  occurrenceToWire,
  RECENT_RUNS_MAX,
  RunState,
} from '../wire/job.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery, pageOf, pageProperties } from './parameters.ts';
import { BODY_DEPTH_MAX } from './workflows.ts';

export const COUNT_DEFAULT = 5;

/** How many occurrences to return. */
export const occurrenceCount = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, default: COUNT_DEFAULT, description: 'Maximum number of occurrences.' }),
);

export const JobParameters = Type.Object(
  {
    job: Type.String({
      pattern: REFERENCE_NAME,
      patternMeaning: 'the id or the name of a job',
      description: 'The job, by its id or its name.',
    }),
  },
  { additionalProperties: false },
);

const detail = { 200: { description: 'The job.', schema: JobDetailDto } };
/** The workflow is nested in the job. */
const bodyDepth = BODY_DEPTH_MAX + 1;

/** Routes of jobs: workflows on a schedule. */
export function jobRoutes(app: App, context: RouteContext): void {
  createRoute(app, context);
  listRoute(app, context);
  readRoutes(app, context);
  changeRoute(app, context);
  removeRoute(app, context);
  pauseRoute(app, context, 'pause', 'Its schedule starts nothing until it is resumed; unfinished runs continue.');
  pauseRoute(app, context, 'resume', 'Its next occurrence is the first from now on: missed ones are not caught up.');
  triggerRoute(app, context);
}

/** The kinds of its tasks. The engine reports any other fault of the workflow. */
function requireCallable(request: FastifyRequest, workflow: unknown, { newId, config }: RouteContext): string[] {
  const parsed = parseWorkflow(workflow, newId);
  if (!parsed.ok) return [];
  const place = placeOf(null, 'workflow');
  requireCommandScope(request, kindsIn(parsed.root));
  requireAllowedAddresses(parsed.root, placeOf(place, 'root'), config.ssrf);
  requireKnownClasses(parsed.root, placeOf(place, 'root'), config.resourceClasses ?? null);
  requireAllowedNotifications(parsed.notify, place, config.ssrf);
  return kindsForWorkers(tasksIn(parsed.root));
}

function createRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/jobs',
    config: { scope: 'operate', bodyDepth, body: MANY_NODES },
    schema: {
      ...documented({
        summary: 'Create a job',
        description: 'A workflow on a schedule. Its nodes have names instead of UUIDs: each run generates its own ids.',
        tag: 'Jobs',
        scope: 'operate',
        answers: {
          201: { description: 'Created.', schema: JobDetailDto, headers: { location: 'URL of the job.' } },
        },
        problems: [409, 413, 415],
      }),
      querystring: NoQuery,
      // Checked by the handler and the engine: the schema of a tree is recursive.
      body: NewJobDto,
    },
    handler: async (request, reply) => {
      const fields = requireJobFields(NewJobFields, request.body, context.newId);
      const kinds = requireCallable(request, fields.workflow, context);
      const job = await context.jobs.create(newJobFromWire(fields));
      await warnOfKinds(context, kinds, reply);
      return reply.code(201).header('location', `/v1/jobs/${job.id}`).send(jobDetailToWire(job));
    },
  });
}

function listRoute(app: App, { jobs, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/jobs',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List jobs',
        description: 'By name, without their workflows, each with its last run.',
        tag: 'Jobs',
        scope: 'read',
        answers: { 200: { description: 'One page of jobs.', schema: Type.Array(JobDto) } },
      }),
      querystring: Type.Object(
        {
          ...pageProperties(config.pagination),
          paused: Type.Optional(Type.Boolean({ description: 'True: only paused jobs; false: only the others.' })),
          recent_runs: Type.Optional(
            Type.Integer({ minimum: 0, maximum: RECENT_RUNS_MAX, default: 0, description: 'Runs in `recent_runs`.' }),
          ),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { paused, recent_runs: runs = 0 } = query;
      const page = { ...pageOf(query, config.pagination), runs };
      return (await jobs.list({ ...page, ...(paused === undefined ? {} : { paused }) })).map(jobToWire);
    },
  });
}

function readRoutes(app: App, { jobs, config }: RouteContext): void {
  const read = (summary: string, description: string, answers: Parameters<typeof documented>[0]['answers']) =>
    documented({ summary, description, tag: 'Jobs', scope: 'read', answers, problems: [404] });
  app.route({
    method: 'GET',
    url: '/v1/jobs/:job',
    config: { scope: 'read' },
    schema: {
      ...read('Get a job', 'With its workflow.', detail),
      params: JobParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const { job } = request.params;
      const detail = jobDetailToWire(foundJob(job, await jobs.get(job)));
      return seesSecrets(request) ? detail : { ...detail, workflow: redactRequests(detail.workflow) as JsonObject };
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/jobs/:job/next',
    config: { scope: 'read' },
    schema: {
      ...read('Get the next occurrences of a job', 'At most as many as it will still start; none while it is paused.', {
        200: { description: 'Soonest first.', schema: Type.Array(OccurrenceDto) },
      }),
      params: JobParameters,
      querystring: Type.Object({ count: occurrenceCount }, { additionalProperties: false }),
    },
    handler: async ({ params, query: { count = COUNT_DEFAULT } }) => {
      const { job, times } = foundJob(params.job, await jobs.upcoming(params.job, count));
      return times.map((time) => occurrenceToWire(time, job.time_zone));
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/jobs/:job/history',
    config: { scope: 'read' },
    schema: {
      ...read('Get the history of a job', 'The outcome of each occurrence, latest first.', {
        200: { description: 'One page of runs.', schema: Type.Array(JobRunDto) },
      }),
      params: JobParameters,
      querystring: Type.Object(
        { ...pageProperties(config.pagination), state: Type.Optional(RunState) },
        { additionalProperties: false },
      ),
    },
    handler: async ({ params: { job }, query }) => {
      const { state } = query;
      const page = { ...pageOf(query, config.pagination), ...(state === undefined ? {} : { state }) };
      return foundJob(job, await jobs.history(job, page)).map(jobRunToWire);
    },
  });
}

function changeRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'PATCH',
    url: '/v1/jobs/:job',
    config: { scope: 'operate', bodyDepth, body: MANY_NODES },
    schema: {
      ...documented({
        summary: 'Change a job',
        description: 'A new expression or time zone applies from now on. Unfinished runs keep the previous version.',
        tag: 'Jobs',
        scope: 'operate',
        answers: detail,
        problems: [404, 409, 413, 415],
      }),
      params: JobParameters,
      querystring: NoQuery,
      body: JobChangeDto,
    },
    handler: async (request, reply) => {
      const { job } = request.params;
      const fields = requireJobFields(JobChangeFields, request.body, context.newId);
      const kinds = fields.workflow === undefined ? [] : requireCallable(request, fields.workflow, context);
      const changed = foundJob(job, await context.jobs.update(job, jobChangeFromWire(fields)));
      await warnOfKinds(context, kinds, reply);
      return jobDetailToWire(changed);
    },
  });
}

function removeRoute(app: App, { jobs }: RouteContext): void {
  app.route({
    method: 'DELETE',
    url: '/v1/jobs/:job',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Delete a job',
        description: 'Its history is deleted with it; its workflows are kept, and unfinished ones continue.',
        tag: 'Jobs',
        scope: 'operate',
        answers: { 204: { description: 'Deleted.' } },
        problems: [404],
      }),
      params: JobParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { job } }, reply) => {
      if (!(await jobs.remove(job))) throw notFound(job);
      return reply.code(204).send();
    },
  });
}

function pauseRoute(app: App, { jobs }: RouteContext, verb: 'pause' | 'resume', description: string): void {
  app.route({
    method: 'POST',
    url: `/v1/jobs/:job/${verb}`,
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: verb === 'pause' ? 'Pause a job' : 'Resume a job',
        description,
        tag: 'Jobs',
        scope: 'operate',
        answers: detail,
        problems: [404],
      }),
      params: JobParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { job } }) => jobDetailToWire(foundJob(job, await jobs[verb](job))),
  });
}

function triggerRoute(app: App, { jobs }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/jobs/:job/trigger',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Start a job now',
        description: `Works even if it is paused or used up; its recurrence is unchanged. While a run is unfinished, the
overlap policy decides: 409 (\`skip\`, or \`queue\` if one is already waiting), it waits (\`queue\`), or it starts (\`allow\`).
With the header \`Idempotency-Key\` a repeat starts nothing and returns the current state of the first run.`,
        tag: 'Jobs',
        scope: 'operate',
        answers: { 202: { description: 'The run; the manager starts it at once.', schema: JobRunDto } },
        problems: [404, 409],
      }),
      params: JobParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { job }, headers, heddle }, reply) => {
      const once = readIdempotencyKey(headers['idempotency-key']);
      const run = foundJob(job, await jobs.trigger(job, once, heddle.traceparent));
      return reply.code(202).send(jobRunToWire(run));
    },
  });
}

/** Returns the answer about a job, or throws NOT_FOUND. */
export function foundJob<T>(key: string, answer: T | null): T {
  if (answer === null) throw notFound(key);
  return answer;
}

function notFound(key: string): HeddleError {
  return new HeddleError('NOT_FOUND', `No such job: ${key}`, {
    details: [`job: no job has the id or name ${key}`],
  });
}
