import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { LogFeed } from '../live/log-feed.ts';
import { EMPTY_LOG, LogPageDto, logPageToWire } from '../wire/log.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { readCursor, startStream } from './event-stream.ts';
import { idOf, TaskParameters } from './parameters.ts';
import { requireAttempt, requireTask } from './transitions.ts';

const description = `What an attempt logged: the output of its command, lines of \`context.log\`, and what a pull worker
sent. Of an attempt that logged more than 1 MiB the first quarter and the newest rest are kept; missing numbers show what
was left out.`;

const followDescription = `Server-sent events. \`change\` carries a page of lines; \`end\` follows when the task has ended.
Without \`attempt\` the stream begins with the current attempt and continues with later ones. \`Last-Event-ID\` resumes a
broken stream.`;

const AttemptNumber = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'By default the one that logged last.' }),
);

/** Lines are short, so that a page of them has more than a page of other things. */
const LINES_DEFAULT = 1_000;
const LINES_MAX = 10_000;
const Limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: LINES_MAX, default: LINES_DEFAULT, description: 'Maximum number of lines.' }),
);
const Tail = Type.Optional(Type.Integer({ minimum: 1, maximum: LINES_MAX, description: 'Only the last lines.' }));

export function logRoutes(app: App, { engine, streams }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/tasks/:task_id/logs',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Read the log of a task',
        description,
        tag: 'Tasks',
        scope: 'read',
        answers: { 200: { description: 'One page of lines.', schema: LogPageDto } },
        problems: [404],
      }),
      params: TaskParameters,
      querystring: Type.Object(
        {
          attempt: AttemptNumber,
          from: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of the first line.' })),
          tail: Tail,
          limit: Limit,
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const { attempt = null, from = null, tail = null, limit = LINES_DEFAULT } = request.query;
      if (from !== null && tail !== null) {
        throw new HeddleError('INVALID_QUERY', undefined, {
          details: ['tail: cannot be combined with from; use one of them'],
        });
      }
      const page = await engine.readLogs(id, { attempt, from, tail, limit: tail ?? limit });
      if (page !== null) return logPageToWire(page);
      requireAttempt(await requireTask(engine, id), attempt);
      return EMPTY_LOG;
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/tasks/:task_id/logs/events',
    config: { scope: 'read', sameOrigin: true },
    exposeHeadRoute: false,
    schema: {
      ...documented({
        summary: 'Follow the log of a task',
        description: followDescription,
        tag: 'Tasks',
        scope: 'read',
        answers: { 200: { description: 'The stream.', schema: Type.String(), type: 'text/event-stream' } },
        problems: [404, 429],
      }),
      params: TaskParameters,
      querystring: Type.Object({ attempt: AttemptNumber, tail: Tail }, { additionalProperties: false }),
    },
    handler: async (request, reply) => {
      const taskId = idOf(request.params);
      const { attempt = null, tail = null } = request.query;
      streams.requireRoom();
      const cursor = readCursor(request);
      const task = await requireTask(engine, taskId);
      requireAttempt(task, attempt);
      const workflowId = task.workflow_id;
      startStream(reply, streams, new LogFeed({ engine, taskId, workflowId, attempt, tail }), cursor);
    },
  });
}
