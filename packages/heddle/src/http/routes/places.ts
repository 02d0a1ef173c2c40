import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { HASH_PATTERN } from '@heddle/core/domain/stored-hash';
import {
  ListedQueueDto,
  listedQueueToWire,
  SlotDto,
  SlotPageDto,
  slotPageToWire,
  slotToWire,
  WorkerDto,
  workerToWire,
} from '../wire/places.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { textFilter } from './filters.ts';
import { NoQuery, pageSize } from './parameters.ts';

const SlotParameters = Type.Object(
  {
    slot_id: Type.String({
      pattern: HASH_PATTERN,
      patternMeaning: '16 hexadecimal digits, as in /v1/slots',
      description: 'The slot.',
    }),
  },
  { additionalProperties: false },
);

/** Where tasks run and wait: workers, queues, slots of rules. */
export function placeRoutes(app: App, context: RouteContext): void {
  workerRoute(app, context);
  queueRoute(app, context);
  slotRoutes(app, context);
}

function workerRoute(app: App, { overview }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/workers',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List workers',
        description:
          'Everything that ran or claimed tasks in the last day and did not stop in order, the latest seen first: at most 1,000.',
        tag: 'Home',
        scope: 'read',
        answers: { 200: { description: 'The workers.', schema: Type.Array(WorkerDto) } },
      }),
      querystring: NoQuery,
    },
    handler: async () => (await overview.workers()).map(workerToWire),
  });
}

function queueRoute(app: App, { overview }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/queues',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List queues',
        description:
          'Kinds that have tasks or workers now, and queues with messages in PostgreSQL, the fullest first: at most 1,000 of both.',
        tag: 'Queues',
        scope: 'read',
        answers: { 200: { description: 'The queues.', schema: Type.Array(ListedQueueDto) } },
      }),
      querystring: NoQuery,
    },
    handler: async () => (await overview.queues()).map(listedQueueToWire),
  });
}

function slotRoutes(app: App, { overview, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/slots',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List slots of rules',
        description: 'The slots that tasks hold or wait for, the fullest first.',
        tag: 'Home',
        scope: 'read',
        answers: { 200: { description: 'One page of slots.', schema: SlotPageDto } },
      }),
      querystring: Type.Object(
        { after: textFilter(100, '`next` of the page before.'), page_size: pageSize(config.pagination) },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query: { after, page_size } }) =>
      slotPageToWire(await overview.slots(after ?? null, page_size ?? config.pagination.default)),
  });
  app.route({
    method: 'GET',
    url: '/v1/slots/:slot_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get a slot',
        tag: 'Home',
        scope: 'read',
        answers: { 200: { description: 'The slot.', schema: SlotDto } },
        problems: [404],
      }),
      params: SlotParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { slot_id } }) => {
      const slot = await overview.slot(slot_id);
      if (slot !== null) return slotToWire(slot);
      throw new HeddleError('NOT_FOUND', `No task holds the slot ${slot_id} or waits for it`);
    },
  });
}
