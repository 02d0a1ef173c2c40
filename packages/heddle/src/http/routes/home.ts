import { Type } from 'typebox';

import { seesSecrets } from '../request-state.ts';
import { FailedTasksDto, failuresToWire, HomeDto, homeToWire } from '../wire/home.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { Fingerprint, textFilter } from './filters.ts';
import { NoQuery, pageSize } from './parameters.ts';

/** What an operator looks at first: what fails, what waits, what needs attention. */
export function homeRoutes(app: App, { overview, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/home',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Show what fails, what waits and what needs attention',
        description: 'The state of the whole system, at most two seconds old.',
        tag: 'Home',
        scope: 'read',
        answers: { 200: { description: 'The state.', schema: HomeDto } },
      }),
      querystring: NoQuery,
    },
    handler: async (request) => homeToWire(await overview.home(), seesSecrets(request)),
  });
  app.route({
    method: 'GET',
    url: '/v1/failures',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List the tasks that failed alike',
        description:
          'The tasks of one group of `failing` of `/v1/home`, newest first. Tasks that were retried or deleted are absent.',
        tag: 'Home',
        scope: 'read',
        answers: { 200: { description: 'One page of tasks.', schema: FailedTasksDto } },
      }),
      querystring: Type.Object(
        {
          fingerprint: Fingerprint('The group.'),
          after: textFilter(100, '`next` of the page before.'),
          page_size: pageSize(config.pagination),
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const { fingerprint, after, page_size } = request.query;
      const page = await overview.failures(fingerprint, after ?? null, page_size ?? config.pagination.default);
      return failuresToWire(page, seesSecrets(request));
    },
  });
}
