import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { secretNamesIn } from '@heddle/base/vocabulary/secret-reference';
import { SecretRefusedError } from '@heddle/core/domain/secret';
import { callerOf, staleAttempt } from '../live/work-holders.ts';
import { Uuid } from '../wire/basics.ts';
import { linesOfWork, WorkLoggedDto, WorkLogsDto } from '../wire/log.ts';
import { WorkSecretsDto } from '../wire/secret.ts';
import { Holder, ReleaseWorkDto, WorkResultsDto } from '../wire/work.ts';
import { resultToWire } from '../wire/workflow.ts';
import type { App, RouteContext } from './context.ts';
import { idOf, pageProperties } from './parameters.ts';
import { requireTask } from './transitions.ts';
import { BODY_PROBLEMS, describeWork, onTask } from './work-task.ts';

/** What a worker reads and writes while it runs a task. */
export function workDataRoutes(app: App, context: RouteContext): void {
  logsRoute(app, context);
  resultsRoute(app, context);
  secretsRoute(app, context);
}

const logsDescription = `For workers that claim tasks: adds lines to the log of the attempt. \`first_line\` makes a repeated
request harmless. Lines are kept with the task; see its log.`;

function logsRoute(app: App, { engine, clock, holders }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/logs',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Add lines to the log of a task',
        description: logsDescription,
        answers: { 200: { description: 'Stored, now or by an earlier call.', schema: WorkLoggedDto } },
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: WorkLogsDto,
    },
    handler: async (request) => {
      const { attempt, first_line } = request.body;
      const task_id = idOf(request.params);
      const { secretsSent } = await holders.requireWorker(task_id, attempt, callerOf(request, request.body.holder));
      const redactor = secretsSent ? (await engine.secretRedactors([task_id])).get(task_id) : undefined;
      const lines = linesOfWork(request.body, clock.now(), redactor);
      await engine.appendLogs([{ task_id, attempt, first_line, ...lines }]);
      return { next: first_line + lines.lines };
    },
  });
}

function resultsRoute(app: App, { engine, config, holders }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/work/:task_id/results',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Read the results of what ran before a task',
        description: 'For aggregators: the results of everything that precedes the task in its container.',
        answers: { 200: { description: 'One page of results.', schema: WorkResultsDto } },
        problems: [404, 409],
      }),
      params: onTask.params,
      querystring: Type.Object(
        {
          after: Type.Optional(Uuid('Only results of tasks whose ids come after this one.')),
          limit: pageProperties(config.pagination).page_size,
          holder: Holder,
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const { after, limit = config.pagination.default, holder } = request.query;
      const task = await requireTask(engine, idOf(request.params));
      await holders.requireReader(task.id, callerOf(request, holder));
      const results = await engine.readResults({ before_task_id: task.id }, after?.toLowerCase() ?? null, limit);
      const next = results.length < limit ? null : results.at(-1)!.task_id;
      return { results: results.map(resultToWire), next };
    },
  });
}

const secretsDescription = `For the worker that runs the task: the values of the secrets that its input names. The token
must be limited to kinds, and the secrets granted to the kind of the task. Every call is in the audit log.`;

function secretsRoute(app: App, { engine, holders, namedSecrets }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/secrets',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Get the secrets of a task',
        description: secretsDescription,
        answers: { 200: { description: 'Their values.', schema: WorkSecretsDto } },
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: ReleaseWorkDto,
    },
    handler: async (request, reply) => {
      const { attempt, holder } = request.body;
      const caller = callerOf(request, holder);
      const id = idOf(request.params);
      await holders.requireTrusted(id, attempt, caller);
      const { kind, metadata, state } = await requireTask(engine, id);
      // A canceled task keeps its worker until that has stopped.
      if (state !== 'claimed' && state !== 'running') throw staleAttempt();
      const worker = { name: caller.holder, address: request.ip };
      try {
        const values = await namedSecrets.use(secretNamesIn(metadata), {
          grantee: kind,
          task_id: id,
          attempt,
          worker,
          isSent: true,
        });
        return await reply.header('cache-control', 'no-store').send({ secrets: Object.fromEntries(values) });
      } catch (error) {
        if (!(error instanceof SecretRefusedError)) throw error;
        throw new HeddleError('FORBIDDEN', 'The task may not use a secret', { details: [`input: ${error.message}`] });
      }
    },
  });
}
