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

/** The pool of runners: what there is and what waits, launches by hand, upkeep. */
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
        description: 'How many runners there are by class and usage, what holds back launches, and the settings.',
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
        description: 'The sizes that runners come in.',
        scope: 'read',
        answers: { 200: { description: 'All of them, as they are configured.', schema: Type.Array(ResourceClassDto) } },
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
        summary: 'Get how many runners there were',
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
              description: 'How far back.',
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
          'Runners that nobody waits for: they are idle once they have come, and end when nobody needs them.',
        scope: 'operate',
        answers: { 202: { description: 'They are to be launched.', schema: ProvisionedDto } },
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
        description: `Brings what launches need up to date, ends runners whose time is over and instances that nobody
knows, and tells the backend of idle runners again.`,
        scope: 'operate',
        answers: { 200: { description: 'What was done, and what failed.', schema: RefreshedDto } },
      }),
      querystring: NoQuery,
    },
    handler: async () => refreshedToWire(await pool.refresh()),
  });
}
