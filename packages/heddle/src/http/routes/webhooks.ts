import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { oneOf, Uuid } from '../wire/basics.ts';
import { DELIVERY_STATES, DeliveryDto, deliveryToWire, ReplayedDto } from '../wire/delivery.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { textFilter } from './filters.ts';
import { DeliveryParameters, NoQuery, pageOf, pageProperties } from './parameters.ts';

export function webhookRoutes(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/webhooks',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List webhook deliveries',
        description: 'The outbox, newest first; `state=dead` lists abandoned deliveries.',
        tag: 'Webhooks',
        scope: 'read',
        answers: { 200: { description: 'One page of deliveries.', schema: Type.Array(DeliveryDto) } },
      }),
      querystring: Type.Object(
        {
          ...pageProperties(config.pagination),
          state: Type.Optional(oneOf([...DELIVERY_STATES])),
          task_id: Type.Optional(Uuid('Deliveries of this task.')),
          origin: textFilter(
            500,
            'Deliveries to this scheme, host and port, such as `https://hooks.example.com`, among the latest 20,000.',
          ),
          after: Type.Optional(Uuid('The last delivery of the page before, instead of `page`.')),
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const { state, task_id, origin, after } = request.query;
      const deliveries = await engine.listDeliveries({
        ...pageOf(request.query, config.pagination),
        ...(state === undefined ? {} : { state }),
        ...(task_id === undefined ? {} : { task_id: task_id.toLowerCase() }),
        ...(origin === undefined ? {} : { origin }),
        ...(after === undefined ? {} : { after: after.toLowerCase() }),
      });
      return deliveries.map(deliveryToWire);
    },
  });
  app.route({
    method: 'POST',
    url: '/v1/webhooks/:delivery_id/replay',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Replay a dead delivery',
        tag: 'Webhooks',
        scope: 'operate',
        answers: { 200: { description: 'The delivery is due again.', schema: ReplayedDto } },
        problems: [404],
      }),
      params: DeliveryParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = request.params.delivery_id.toLowerCase();
      const replayed = await engine.replayDeliveries([id]);
      if (replayed > 0) return { replayed };
      throw new HeddleError('NOT_FOUND', `No such dead delivery: ${id}`, {
        details: [
          `delivery_id: no dead delivery has the id ${id}; list them with /v1/webhooks?state=dead. A start cannot be replayed: retry its task`,
        ],
      });
    },
  });
}
