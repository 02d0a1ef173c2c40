import { Type } from 'typebox';

import { BatchFeed } from '../live/batch-feed.ts';
import { WorkflowFeed } from '../live/workflow-feed.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { readCursor, startStream } from './event-stream.ts';
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
      startStream(reply, streams, new BatchFeed(engine, id), cursor);
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
      startStream(reply, streams, new WorkflowFeed(engine, id), cursor);
    },
  });
}
