import { Type } from 'typebox';

import { HeddleError, unknownCursor } from '@heddle/base/errors';
import {
  MODEL_KEY_CHARACTERS_MAX,
  MODEL_NAME_MEANING,
  MODEL_NAME_PATTERN,
  MODEL_SEARCH_CHARACTERS_MAX,
  MODEL_TARGET_CHARACTERS_MAX,
} from '@heddle/core/domain/model-record';
import { Uuid } from '../wire/basics.ts';
import { ModelDto, ModelStateWire, ModelTargetDto, modelTargetToWire, modelToWire } from '../wire/model.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { timeFilter, timeOf, textFilter } from './filters.ts';
import { NoQuery, pageOf, pageProperties } from './parameters.ts';

const ModelParameters = Type.Object({ model_id: Uuid('The model.') }, { additionalProperties: false });

/** Routes of models, over all runs that observed them. */
export function modelRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  targetsRoute(app, context);
  getRoute(app, context);
}

function listRoute(app: App, { models, config }: RouteContext): void {
  const { page_size } = pageProperties(config.pagination);
  app.route({
    method: 'GET',
    url: '/v1/models',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List models',
        description:
          'Newest first. The `id` of the last model of a page is the `after` of the next one; a page that is not full is the last.',
        tag: 'Models',
        scope: 'read',
        answers: { 200: { description: 'One page of models.', schema: Type.Array(ModelDto) } },
      }),
      querystring: Type.Object(
        {
          page_size,
          after: Type.Optional(Uuid('Only models after this one.')),
          target: textFilter(MODEL_TARGET_CHARACTERS_MAX, 'Only of this target.'),
          model: Type.Optional(
            Type.String({
              pattern: MODEL_NAME_PATTERN,
              patternMeaning: MODEL_NAME_MEANING,
              description: 'Only of this type: `host`, `service`, `name`, `tls`, `certificate`, or a custom type.',
            }),
          ),
          state: Type.Optional(ModelStateWire),
          key: textFilter(MODEL_KEY_CHARACTERS_MAX, 'Only with this key prefix.'),
          search: textFilter(
            MODEL_SEARCH_CHARACTERS_MAX,
            'Only with this string in their key, or in a string or number anywhere in their data, case-insensitive.',
          ),
          changed_since: timeFilter(
            'Only those that were new, changed or gone in a run which began at or after this time',
          ),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { target, model, state, key, search, changed_since } = query;
      const filter = {
        ...(target === undefined ? {} : { target }),
        ...(model === undefined ? {} : { model }),
        ...(state === undefined ? {} : { states: [state] }),
        ...(key === undefined ? {} : { key_prefix: key }),
        ...(search === undefined ? {} : { search }),
        ...(changed_since === undefined ? {} : { changed_since: timeOf('changed_since', changed_since) }),
      };
      const limit = query.page_size ?? config.pagination.default;
      const after = query.after?.toLowerCase() ?? null;
      if (after !== null && (await models.get(after)) === null) throw unknownCursor('model', after);
      return (await models.list(filter, { after, limit })).map(modelToWire);
    },
  });
}

function targetsRoute(app: App, { models, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/models/targets',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List targets of models',
        description: 'Targets by name, each with its latest run.',
        tag: 'Models',
        scope: 'read',
        answers: { 200: { description: 'One page of targets.', schema: Type.Array(ModelTargetDto) } },
      }),
      querystring: Type.Object(pageProperties(config.pagination), { additionalProperties: false }),
    },
    handler: async ({ query }) => (await models.targets(pageOf(query, config.pagination))).map(modelTargetToWire),
  });
}

function getRoute(app: App, { models }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/models/:model_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get a model',
        tag: 'Models',
        scope: 'read',
        answers: { 200: { description: 'The model.', schema: ModelDto } },
        problems: [404],
      }),
      params: ModelParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => {
      const id = params.model_id.toLowerCase();
      const model = await models.get(id);
      if (model !== null) return modelToWire(model);
      throw new HeddleError('NOT_FOUND', `No such model: ${id}`, {
        details: [`model_id: no model has the id ${id}; list them with /v1/models`],
      });
    },
  });
}
