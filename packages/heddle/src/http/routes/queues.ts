import { Type } from 'typebox';

import { seesSecrets } from '../request-state.ts';
import { DeadLetterDto, deadLetterToWire, QueueDto, RedriveDto, RedrivenDto } from '../wire/queue.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery, pageOf, pageProperties } from './parameters.ts';

const QueueName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\u0000]*$',
  patternMeaning: 'string without NUL',
  description: 'Name of a queue: `manager`, or `worker:KIND`.',
});

const QueueParameters = Type.Object({ name: QueueName }, { additionalProperties: false });

/** Routes of the queues behind workflows, and of their dead letters. */
export function queueRoutes(app: App, context: RouteContext): void {
  depthRoute(app, context);
  deadLettersRoute(app, context);
  redriveRoute(app, context);
}

function depthRoute(app: App, { queues }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/queues/:name',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Count the messages of a queue',
        description: 'A queue that was never used is empty.',
        tag: 'Queues',
        scope: 'read',
        answers: { 200: { description: 'The counts.', schema: QueueDto } },
      }),
      params: QueueParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { name } }) => ({ name, ...(await queues.depth(name)) }),
  });
}

function deadLettersRoute(app: App, { queues, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/dead-letters',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List dead letters',
        description: 'Messages that could not be handled, oldest first, each with its reason.',
        tag: 'Queues',
        scope: 'read',
        answers: { 200: { description: 'One page of dead letters.', schema: Type.Array(DeadLetterDto) } },
      }),
      querystring: Type.Object(
        { ...pageProperties(config.pagination), queue: Type.Optional(QueueName) },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const { query } = request;
      const letters = await queues.listDead(query.queue ?? null, pageOf(query, config.pagination));
      return letters.map((letter) => deadLetterToWire(letter, seesSecrets(request)));
    },
  });
}

function redriveRoute(app: App, { queues }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/queues/:name/redrive',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Redrive dead letters',
        description: 'Returns them to their queue as new messages.',
        tag: 'Queues',
        scope: 'operate',
        answers: { 200: { description: 'Number of redriven messages.', schema: RedrivenDto } },
        problems: [413, 415],
      }),
      params: QueueParameters,
      querystring: NoQuery,
      body: RedriveDto,
    },
    handler: async ({ params: { name }, body }) => {
      const ids = body.ids?.map((id) => id.toLowerCase()) ?? null;
      return { redriven: await queues.redrive(name, ids) };
    },
  });
}
