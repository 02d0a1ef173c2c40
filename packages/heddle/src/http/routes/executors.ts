import { Type } from 'typebox';

import { ExecutorDto, executorToWire } from '../wire/executor.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery } from './parameters.ts';

/** Routes of the executors for remote events. */
export function executorRoutes(app: App, { executors }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/executors',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List executors',
        description:
          'The endpoints to which this server sends tasks of the kind `RemoteEvent`, with their status at the last response.',
        tag: 'Executors',
        scope: 'read',
        answers: {
          200: { description: 'All of them, in configuration order.', schema: Type.Array(ExecutorDto) },
        },
      }),
      querystring: NoQuery,
    },
    handler: () => executors.list().map(executorToWire),
  });
}
