import { Type } from 'typebox';

import { HeddleError } from '../../domain/errors.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { BatchParameters, NoQuery } from './parameters.ts';
import { batchNotFound } from './transitions.ts';

const description = `Server-sent events. \`change\` carries \`{batch, tasks}\` with the tasks that changed (all of them at first,
in parts where they are many), at most four a second; \`end\` comes when all tasks have ended and closes the stream. A
comment every 5 seconds keeps it open. \`Last-Event-ID\` resumes after a break; a task may be told twice, none is left out.`;

export function eventRoutes(app: App, { engine, streams }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/batches/:batch_id/events',
    config: { scope: 'read' },
    exposeHeadRoute: false,
    schema: {
      ...documented({
        summary: 'Follow a batch',
        description,
        tag: 'Batches',
        scope: 'read',
        answers: { 200: { description: 'The stream.', schema: Type.String(), type: 'text/event-stream' } },
        problems: [404, 429],
      }),
      params: BatchParameters,
      querystring: NoQuery,
    },
    handler: async (request, reply) => {
      const id = request.params.batch_id.toLowerCase();
      streams.requireRoom();
      const cursor = readCursor(request.headers['last-event-id']);
      if ((await engine.getWorkflow(id)) === null) throw batchNotFound(id);
      reply.hijack();
      const { raw } = reply;
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) raw.setHeader(name, value);
      // Proxies must neither keep nor hold back what is sent; the stream closes its connection with it.
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        connection: 'close',
        'x-accel-buffering': 'no',
      });
      raw.write('retry: 2000\n\n');
      streams.open(id, cursor, raw);
    },
  });
}

function readCursor(lastEventId: string | string[] | undefined): number {
  if (lastEventId === undefined || lastEventId === '') return 0;
  if (typeof lastEventId === 'string' && /^\d{1,15}$/.test(lastEventId)) return Number(lastEventId);
  throw new HeddleError('VALIDATION_FAILED', undefined, {
    details: ['last-event-id: must be the id of an event of this stream'],
  });
}
