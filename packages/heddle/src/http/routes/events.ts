import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { BatchFeed } from '../live/batch-feed.ts';
import type { EventStreams } from '../live/event-streams.ts';
import type { Feed } from '../live/feed.ts';
import { WorkflowFeed } from '../live/workflow-feed.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { BatchParameters, NoQuery, WorkflowParameters } from './parameters.ts';
import { batchNotFound, requireTree } from './transitions.ts';

const common = `at most four a second; \`end\` follows when everything has ended, and closes the stream. A comment every 5 seconds
keeps it open. \`Last-Event-ID\` resumes a broken stream; an event may be repeated, but none is missed.`;

const ofBatch = `Server-sent events. \`change\` carries \`{batch, tasks}\` with the tasks that changed (all of them at first,
in parts if there are many), ${common}`;

const ofWorkflow = `Server-sent events. \`change\` carries \`{workflow, containers, tasks}\` with the nodes that changed (all
of them at first, in parts if there are many), ${common}`;

const ANSWERS = { 200: { description: 'The stream.', schema: Type.String(), type: 'text/event-stream' } };

export function eventRoutes(app: App, { engine, streams }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/batches/:batch_id/events',
    config: { scope: 'read', sameOrigin: true },
    exposeHeadRoute: false,
    schema: {
      ...documented({
        summary: 'Follow a batch',
        description: ofBatch,
        tag: 'Batches',
        scope: 'read',
        answers: ANSWERS,
        problems: [404, 429],
      }),
      params: BatchParameters,
      querystring: NoQuery,
    },
    handler: async (request, reply) => {
      const id = request.params.batch_id.toLowerCase();
      streams.requireRoom();
      const cursor = readCursor(request);
      if ((await engine.getWorkflow(id)) === null) throw batchNotFound(id);
      start(reply, streams, new BatchFeed(engine, id), cursor);
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/workflows/:workflow_id/events',
    config: { scope: 'read', sameOrigin: true },
    exposeHeadRoute: false,
    schema: {
      ...documented({
        summary: 'Follow a workflow',
        description: ofWorkflow,
        tag: 'Workflows',
        scope: 'read',
        answers: ANSWERS,
        problems: [404, 429],
      }),
      params: WorkflowParameters,
      querystring: NoQuery,
    },
    handler: async (request, reply) => {
      const id = request.params.workflow_id.toLowerCase();
      streams.requireRoom();
      const cursor = readCursor(request);
      await requireTree(engine, id);
      start(reply, streams, new WorkflowFeed(engine, id), cursor);
    },
  });
}

/** Responds with a stream, which owns the connection from here on. */
function start(reply: FastifyReply, streams: EventStreams, feed: Feed, cursor: number): void {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  // Proxies must neither cache nor buffer the stream; its end closes the connection.
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 2000\n\n');
  streams.open(feed, cursor, raw);
}

function readCursor(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  if (given === undefined || given === '') return 0;
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given);
  throw new HeddleError('VALIDATION_FAILED', undefined, {
    details: ['last-event-id: must be the id of an event of this stream'],
  });
}
