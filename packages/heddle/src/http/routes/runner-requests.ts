import { Type } from 'typebox';

import { disconnectSignalOf } from '../live/hang-up.ts';
import { RunnerWaits } from '../live/runner-waits.ts';
import { oneOf, Uuid } from '../wire/basics.ts';
import type { RequestWithRunners, RunnerRequest } from '@heddle/core/pool/port/store';
import { HoldDto, PoolRequestDetailDto, PoolRequestDto, requestDetailToWire, requestToWire } from '../wire/runner.ts';
import type { App, RouteContext } from './context.ts';
import { NoQuery, pageOf, pageProperties } from './parameters.ts';
import { demandOf, describePool } from './pool-demand.ts';

/** Requests that a list reads. */
const LISTED_MAX = 1_000;

const RequestParameters = Type.Object({ request_id: Uuid('The request.') }, { additionalProperties: false });

const detail = { 200: { description: 'The request.', schema: PoolRequestDetailDto } };

/** Routes of requests for runners: by tasks, and by holders of runners for their own work. */
export function runnerRequestRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  readRoute(app, context);
  holdRoute(app, context);
  releaseRoute(app, context);
}

/** Reads the names of the tasks that requests are for, in one query. */
function namesOf({ runs }: RouteContext, requests: readonly RunnerRequest[]): Promise<ReadonlyMap<string, string>> {
  return runs.taskNames([...new Set(requests.flatMap(({ source, run }) => (source === 'task' ? [run] : [])))]);
}

async function shown(context: RouteContext, request: RequestWithRunners): Promise<PoolRequestDetailDto> {
  return requestDetailToWire(request, await namesOf(context, [request]));
}

function listRoute(app: App, context: RouteContext): void {
  const { pool, config } = context;
  app.route({
    method: 'GET',
    url: '/v1/pool/requests',
    config: { scope: 'read' },
    schema: {
      ...describePool({
        summary: 'List requests for runners',
        description: `Waiting requests, in queue order; or granted requests, latest first. Of
either at most the first ${LISTED_MAX.toLocaleString('en')}.`,
        scope: 'read',
        answers: { 200: { description: 'One page of requests.', schema: Type.Array(PoolRequestDto) } },
      }),
      querystring: Type.Object(
        {
          ...pageProperties(config.pagination),
          state: Type.Optional(oneOf(['waiting', 'granted'], { default: 'waiting', description: 'Which requests.' })),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { offset, limit } = pageOf(query, config.pagination);
      if (offset >= LISTED_MAX) return [];
      const upTo = Math.min(offset + limit, LISTED_MAX);
      const requests = (await (query.state === 'granted' ? pool.granted(upTo) : pool.waiting(upTo))).slice(offset);
      const names = await namesOf(context, requests);
      return requests.map((request) => requestToWire(request, names));
    },
  });
}

function readRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/pool/requests/:request_id',
    config: { scope: 'read' },
    schema: {
      ...describePool({
        summary: 'Get a request for runners',
        description: 'With the runners that it has.',
        scope: 'read',
        answers: detail,
        problems: [404],
      }),
      params: RequestParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => shown(context, await context.pool.request(params.request_id.toLowerCase())),
  });
}

const holdDescription = `For work outside Heddle: the runners are reserved for the holder from the grant until the request is
deleted. All requested runners are granted together. The response follows once they are granted, or after \`wait_secs\`; a
request that is still waiting then continues to wait, and a repeat with its \`id\` waits for it again.`;

function holdRoute(app: App, context: RouteContext): void {
  const { pool, clock } = context;
  const waits = new RunnerWaits(pool, clock);
  app.addHook('preClose', (done) => {
    waits.close();
    done();
  });
  app.route({
    method: 'POST',
    url: '/v1/pool/requests',
    config: { scope: 'operate' },
    schema: {
      ...describePool({
        summary: 'Hold runners',
        description: holdDescription,
        scope: 'operate',
        answers: {
          200: {
            description: 'The request: `granted` with its runners, or `waiting`.',
            schema: PoolRequestDetailDto,
            headers: { location: 'URL of the request.' },
          },
        },
        problems: [409, 413, 415, 422, 429],
      }),
      querystring: NoQuery,
      body: HoldDto,
    },
    handler: async (request, reply) => {
      const { id, requirements, holder, tenant, expires_secs, wait_secs = 0 } = request.body;
      const gone = disconnectSignalOf(reply);
      const until = clock.monotonic() + wait_secs * 1_000;
      const asked = await pool.hold(demandOf(pool, requirements), {
        id: id?.toLowerCase() ?? null,
        holder: holder ?? `holder at ${request.ip}`,
        tenant: tenant ?? null,
        wait_ms: expires_secs === undefined ? null : expires_secs * 1_000,
      });
      const latest = await waits.wait(asked, Math.max(0, until - clock.monotonic()), gone);
      // No other caller knows its id: runners granted to it would be held without a holder.
      if (gone.aborted && id === undefined) await pool.releaseHold(latest.id);
      // A keep-alive connection would keep the server from closing.
      if (waits.closing) void reply.header('connection', 'close');
      return reply.header('location', `/v1/pool/requests/${latest.id}`).send(await shown(context, latest));
    },
  });
}

function releaseRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'DELETE',
    url: '/v1/pool/requests/:request_id',
    config: { scope: 'operate' },
    schema: {
      ...describePool({
        summary: 'Release held runners',
        description:
          'Ends a holder’s request, waiting or granted, and releases its runners. The request of a task ends with the task.',
        scope: 'operate',
        answers: detail,
        problems: [404, 409],
      }),
      params: RequestParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => shown(context, await context.pool.releaseHold(params.request_id.toLowerCase())),
  });
}
