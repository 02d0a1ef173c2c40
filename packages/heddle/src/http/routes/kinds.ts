import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { KIND_CHARS_MAX } from '@heddle/core/domain/parse/node';
import { KindDto, kindToWire } from '../wire/kind.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { textFilter } from './filters.ts';
import { NoQuery } from './parameters.ts';

const PAGE_SIZE = 1000;

const KindName = Type.String({
  minLength: 1,
  maxLength: KIND_CHARS_MAX,
  pattern: '^[^\\u0000]*$',
  patternMeaning: 'string without NUL',
  description: 'The name of the kind.',
});

/** Routes that read which kinds of tasks there are. */
export function kindRoutes(app: App, { kinds }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/kinds',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List kinds',
        description: 'By name: the built-in ones, those of workers, and those that tasks named.',
        tag: 'Kinds',
        scope: 'read',
        answers: { 200: { description: 'One page of kinds.', schema: Type.Array(KindDto) } },
      }),
      querystring: Type.Object(
        {
          page_size: Type.Optional(
            Type.Integer({ minimum: 1, maximum: PAGE_SIZE, default: PAGE_SIZE, description: 'Items per page.' }),
          ),
          after: textFilter(KIND_CHARS_MAX, 'Only kinds with names after this one.'),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query: { page_size: limit = PAGE_SIZE, after = '' } }) =>
      (await kinds.list({ after, limit })).map(kindToWire),
  });
  app.route({
    method: 'GET',
    url: '/v1/kinds/:name',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get a kind',
        tag: 'Kinds',
        scope: 'read',
        answers: { 200: { description: 'The kind.', schema: KindDto } },
        problems: [404],
      }),
      params: Type.Object({ name: KindName }, { additionalProperties: false }),
      querystring: NoQuery,
    },
    handler: async ({ params: { name } }) => {
      const kind = await kinds.get(name);
      if (kind !== null) return kindToWire(kind);
      throw new HeddleError('NOT_FOUND', `No such kind: ${name}`, {
        details: [`name: no worker and no task has the kind ${name}`],
      });
    },
  });
}
