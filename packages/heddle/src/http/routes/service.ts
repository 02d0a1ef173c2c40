import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { HealthDto, LiveDto, ReadyDto } from '../wire/health.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery } from './parameters.ts';

const HEALTH_TIMEOUT_DEFAULT_MS = 2000;

/** Routes for operators and their tools: health, readiness, metrics, the description of the API. */
export function serviceRoutes(app: App, context: RouteContext): void {
  liveRoute(app);
  healthRoutes(app, context);
  const { metrics, config } = context;
  const metricsScope = config.metricsPublic ? null : ('read' as const);
  app.route({
    method: 'GET',
    url: '/metrics',
    config: { scope: metricsScope },
    schema: {
      ...documented({
        summary: 'Metrics for Prometheus',
        tag: 'Service',
        scope: metricsScope,
        answers: { 200: { description: 'Text exposition format.', schema: Type.String(), type: 'text/plain' } },
      }),
    },
    handler: async (_request, reply) => {
      void reply.type(metrics.registry.contentType);
      return reply.send(await metrics.registry.metrics());
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/openapi.json',
    config: { scope: null },
    schema: {
      ...documented({
        summary: 'This description',
        tag: 'Service',
        scope: null,
        answers: { 200: { description: 'OpenAPI 3.1.', schema: Type.Object({}, { additionalProperties: true }) } },
      }),
      querystring: NoQuery,
    },
    handler: () => app.swagger(),
  });
}

/** For whatever restarts the process: a restart helps a process that does not respond, not an unavailable database. */
function liveRoute(app: App): void {
  app.route({
    method: 'GET',
    url: '/live',
    config: { scope: null },
    schema: documented({
      summary: 'Liveness',
      description: 'Responds while the process is alive, whether or not the database is available.',
      tag: 'Service',
      scope: null,
      answers: { 200: { description: 'The process is alive.', schema: LiveDto } },
    }),
    handler: () => ({ status: 'alive' as const }),
  });
}

function healthRoutes(app: App, { database, breaker, config, clock, streams }: RouteContext): void {
  const timeoutMs = config.healthTimeoutMs ?? HEALTH_TIMEOUT_DEFAULT_MS;
  const answers = async (): Promise<boolean> => {
    const gaveUp = new AbortController();
    // A broken connection is detected by using it: only the second failure indicates the database.
    const pinged = database
      .ping()
      .catch(() => database.ping())
      .then(
        () => true,
        () => false,
      );
    const healthy = await Promise.race([pinged, clock.sleep(timeoutMs, gaveUp.signal).then(() => false)]);
    gaveUp.abort();
    return healthy;
  };
  app.route({
    method: 'GET',
    url: '/health',
    config: { scope: null },
    schema: documented({
      summary: 'Health',
      tag: 'Service',
      scope: null,
      answers: {
        200: { description: 'Healthy.', schema: HealthDto },
        503: { description: 'The database is unreachable.', schema: HealthDto },
      },
    }),
    handler: async (_request, reply) => {
      const healthy = await answers();
      const { size, idle } = database.stats();
      return reply.code(healthy ? 200 : 503).send({
        status: healthy ? 'ok' : 'degraded',
        database: healthy ? 'healthy' : 'unhealthy',
        pool_size: size,
        pool_idle: idle,
        breaker: breaker.state,
        version: config.version,
      });
    },
  });
  app.route({
    method: 'GET',
    url: '/ready',
    config: { scope: null },
    schema: documented({
      summary: 'Readiness',
      description: 'Stricter than health: a database connection must be free, and the server must not be stopping.',
      tag: 'Service',
      scope: null,
      answers: { 200: { description: 'Ready for requests.', schema: ReadyDto } },
    }),
    handler: async () => {
      if (streams.closing) throw new HeddleError('SHUTTING_DOWN');
      const { idle, waiting } = database.stats();
      const exhausted = idle === 0 && waiting > 0;
      if (exhausted || breaker.state === 'open' || !(await answers())) {
        const reason = exhausted ? 'database: every connection is in use' : 'database: is unreachable';
        throw new HeddleError('DATABASE_UNAVAILABLE', undefined, { details: [reason], retryAfterSecs: 1 });
      }
      return { status: 'ready' as const };
    },
  });
}
