import { Type } from 'typebox';

import { ExecutorDto, executorToWire } from '../wire/executor.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery } from './parameters.ts';

/** The executors that remote events go to. */
export function executorRoutes(app: App, { executors }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/executors',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List executors',
        description:
          'The endpoints that this server sends tasks of the kind `RemoteEvent` to, as they were when they last answered.',
        tag: 'Executors',
        scope: 'read',
        answers: {
          200: { description: 'All of them, in the order they are configured.', schema: Type.Array(ExecutorDto) },
        },
      }),
      querystring: NoQuery,
    },
    handler: () => executors.list().map(executorToWire),
  });
}
