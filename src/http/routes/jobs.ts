import { Type } from 'typebox';

import { HeddleError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { placeOf } from '../../domain/parse/path.ts';
import { parseWorkflow } from '../../domain/parse/workflow.ts';
import { tasksIn } from '../../domain/workflow.ts';
import { kindsForWorkers } from '../../engine/known-kinds.ts';
import { requireKnownClasses } from '../../engine/runners/check.ts';
import { redactRequests } from '../../runtime/redact.ts';
import { MANY_NODES } from '../body-limits.ts';
import { seesSecrets } from '../request-state.ts';
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
  RunState,
} from '../wire/job.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery, pageOf, pageProperties } from './parameters.ts';
import { BODY_DEPTH_MAX } from './workflows.ts';

const COUNT_DEFAULT = 5;
const COUNT_MAX = 100;

const JobParameters = Type.Object(
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
/** The workflow stands within the job. */
const bodyDepth = BODY_DEPTH_MAX + 1;

/** Workflows that start by a schedule. */
export function jobRoutes(app: App, context: RouteContext): void {
  createRoute(app, context);
  listRoute(app, context);
  readRoutes(app, context);
  changeRoute(app, context);
  removeRoute(app, context);
  pauseRoute(app, context, 'pause', 'Nothing starts by its schedule until it is resumed; runs under way go on.');
  pauseRoute(
    app,
    context,
    'resume',
    'Its next occurrence is the first from now on: what passed meanwhile is not made up for.',
  );
  triggerRoute(app, context);
}

/** The kinds of its tasks. What is wrong with the workflow otherwise is the engine's to say. */
function requireCallable(workflow: unknown, { newId, config }: RouteContext): string[] {
  const parsed = parseWorkflow(workflow, newId);
  if (!parsed.ok) return [];
  const place = placeOf(null, 'workflow');
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
        description:
          'A workflow that starts by a schedule. Its nodes hold names, not UUIDs: each run makes its own ids.',
        tag: 'Jobs',
        scope: 'operate',
        answers: {
          201: { description: 'It is stored.', schema: JobDetailDto, headers: { location: 'Where the job is.' } },
        },
        problems: [409, 413, 415],
      }),
      querystring: NoQuery,
      // Checked by the handler and the engine: the schema of a tree holds itself.
      body: NewJobDto,
    },
    handler: async (request, reply) => {
      const fields = requireJobFields(NewJobFields, request.body, context.newId);
      const kinds = requireCallable(fields.workflow, context);
      const job = await context.jobs.create(newJobFromWire(fields));
      await warnOfKinds(context.engine, kinds, request, reply);
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
          paused: Type.Optional(Type.Boolean({ description: 'Only those that are paused, or only the others.' })),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { paused } = query;
      const page = pageOf(query, config.pagination);
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
      const detail = jobDetailToWire(found(job, await jobs.get(job)));
      return seesSecrets(request) ? detail : { ...detail, workflow: redactRequests(detail.workflow) as JsonObject };
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/jobs/:job/next',
    config: { scope: 'read' },
    schema: {
      ...read('Get the next occurrences of a job', 'As many as it will still start; none while it is paused.', {
        200: { description: 'Soonest first.', schema: Type.Array(OccurrenceDto) },
      }),
      params: JobParameters,
      querystring: Type.Object(
        {
          count: Type.Optional(
            Type.Integer({ minimum: 1, maximum: COUNT_MAX, default: COUNT_DEFAULT, description: 'At most so many.' }),
          ),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ params, query: { count = COUNT_DEFAULT } }) => {
      const { job, times } = found(params.job, await jobs.upcoming(params.job, count));
      return times.map((time) => occurrenceToWire(time, job.time_zone));
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/jobs/:job/history',
    config: { scope: 'read' },
    schema: {
      ...read('Get the history of a job', 'What became of each occurrence, the latest first.', {
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
      return found(job, await jobs.history(job, page)).map(jobRunToWire);
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
        description: 'A new expression or time zone counts from now on. Runs under way keep what they began with.',
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
      const kinds = fields.workflow === undefined ? [] : requireCallable(fields.workflow, context);
      const changed = found(job, await context.jobs.update(job, jobChangeFromWire(fields)));
      await warnOfKinds(context.engine, kinds, request, reply);
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
        summary: 'Remove a job',
        description: 'Its history goes with it; its workflows stay, and those under way go on.',
        tag: 'Jobs',
        scope: 'operate',
        answers: { 204: { description: 'It is gone.' } },
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
    handler: async ({ params: { job } }) => jobDetailToWire(found(job, await jobs[verb](job))),
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
        description: `Also where it is paused or used up; its recurrence stays as it is. While a run has not ended, the
overlap policy decides: 409 (\`skip\`, or \`queue\` where one waits already), it waits (\`queue\`), or it starts (\`allow\`).
With the header \`Idempotency-Key\` a repeat starts nothing and answers the same run as it now is.`,
        tag: 'Jobs',
        scope: 'operate',
        answers: { 202: { description: 'The run; the manager takes it up at once.', schema: JobRunDto } },
        problems: [404, 409],
      }),
      params: JobParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { job }, headers }, reply) => {
      const once = readIdempotencyKey(headers['idempotency-key']);
      const run = found(job, await jobs.trigger(job, once));
      return reply.code(202).send(jobRunToWire(run));
    },
  });
}

function found<T>(key: string, answer: T | null): T {
  if (answer === null) throw notFound(key);
  return answer;
}

function notFound(key: string): HeddleError {
  return new HeddleError('NOT_FOUND', `There is no job ${key}`, {
    details: [`job: nothing is stored under the id or name ${key}`],
  });
}
