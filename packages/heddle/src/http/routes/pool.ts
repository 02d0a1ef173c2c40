import { Type } from 'typebox';

import {
  classToWire,
  PoolDto,
  poolToWire,
  ProvisionDto,
  ProvisionedDto,
  provisionedToWire,
  RefreshedDto,
  refreshedToWire,
  ResourceClassDto,
  SampleDto,
  sampleToWire,
} from '../wire/pool.ts';
import type { App, RouteContext } from './context.ts';
import { textFilter } from './filters.ts';
import { NoQuery } from './parameters.ts';
import { CLASS_CHARS_MAX, demandOf, describePool } from './pool-demand.ts';
import { runnerRequestRoutes } from './runner-requests.ts';
import { runnerRoutes } from './runners.ts';

const HOURS_DEFAULT = 3;
const HOURS_MAX = 24;
const HOUR_MS = 3_600_000;

/** Routes of the pool of runners: its state, manual launches, maintenance. */
export function poolRoutes(app: App, context: RouteContext): void {
  readRoutes(app, context);
  historyRoute(app, context);
  provisionRoute(app, context);
  refreshRoute(app, context);
  runnerRoutes(app, context);
  runnerRequestRoutes(app, context);
}

function readRoutes(app: App, { pool }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/pool',
    config: { scope: 'read' },
    schema: {
      ...describePool({
        summary: 'Get the pool of runners',
        description: 'Number of runners by class and usage, what holds back launches, and the settings.',
        scope: 'read',
        answers: { 200: { description: 'The pool.', schema: PoolDto } },
      }),
      querystring: NoQuery,
    },
    handler: async () => poolToWire(pool.status(), await pool.census()),
  });
  app.route({
    method: 'GET',
    url: '/v1/pool/classes',
    config: { scope: 'read' },
    schema: {
      ...describePool({
        summary: 'List the resource classes',
        description: 'The available sizes of runners.',
        scope: 'read',
        answers: { 200: { description: 'All of them, in configuration order.', schema: Type.Array(ResourceClassDto) } },
      }),
      querystring: NoQuery,
    },
    handler: () => pool.classes().map(classToWire),
  });
}

function historyRoute(app: App, { pool }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/pool/history',
    config: { scope: 'read' },
    schema: {
      ...describePool({
        summary: 'Get the history of runner counts',
        description: 'One entry for each minute, class and usage; a class without runners and requests has none.',
        scope: 'read',
        answers: { 200: { description: 'Oldest first.', schema: Type.Array(SampleDto) } },
      }),
      querystring: Type.Object(
        {
          hours: Type.Optional(
            Type.Number({
              exclusiveMinimum: 0,
              maximum: HOURS_MAX,
              default: HOURS_DEFAULT,
              description: 'Number of hours to look back.',
            }),
          ),
          resource_class: textFilter(CLASS_CHARS_MAX, 'Only of this class.'),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query: { hours = HOURS_DEFAULT, resource_class } }) => {
      const samples = await pool.history(hours * HOUR_MS);
      const wanted = samples.filter(
        (sample) => resource_class === undefined || sample.resource_class === resource_class,
      );
      return wanted.map(sampleToWire);
    },
  });
}

function provisionRoute(app: App, { pool }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/pool/provision',
    config: { scope: 'operate' },
    schema: {
      ...describePool({
        summary: 'Launch runners',
        description:
          'Launches runners ahead of demand: they are idle once ready, and terminate when they are not needed.',
        scope: 'operate',
        answers: { 202: { description: 'The launches are planned.', schema: ProvisionedDto } },
        problems: [409, 413, 415, 422],
      }),
      querystring: NoQuery,
      body: ProvisionDto,
    },
    handler: async ({ body: { id, requirements } }, reply) => {
      const provisioned = await pool.provision(demandOf(pool, requirements), id?.toLowerCase());
      return reply.code(202).send(provisionedToWire(provisioned));
    },
  });
}

function refreshRoute(app: App, { pool }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/pool/refresh',
    config: { scope: 'operate' },
    schema: {
      ...describePool({
        summary: 'Refresh the pool',
        description: `Refreshes what launches need, terminates runners past their deadline and instances without a
runner, and announces idle runners to the backend again.`,
        scope: 'operate',
        answers: { 200: { description: 'What was done and what failed.', schema: RefreshedDto } },
      }),
      querystring: NoQuery,
    },
    handler: async () => refreshedToWire(await pool.refresh()),
  });
}
