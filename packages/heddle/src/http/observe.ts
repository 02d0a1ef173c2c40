import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Metrics } from '@heddle/core/metrics/metrics';
import { parseTraceparent, type Span, type Tracing } from '@heddle/base/trace';
import { newRequestState, routeOf, type RequestState } from './request-state.ts';

interface Observers {
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  tracing: Tracing;
}

/** Measures, traces and logs each request. URLs are logged without their query, which may contain a handle. */
export function observeRequests(app: FastifyInstance, { clock, log, metrics, tracing }: Observers): void {
  app.decorateRequest('heddle', null as unknown as RequestState);
  app.addHook('onRequest', (request, _reply, done) => {
    const state = newRequestState(clock.monotonic());
    request.heddle = state;
    const caller = callerTrace(request);
    if (!tracing.enabled) {
      state.traceparent = caller;
      done();
      return;
    }
    startSpan(tracing, request, caller, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { startedAt, endSpan } = request.heddle;
    const seconds = (clock.monotonic() - startedAt) / 1000;
    const labels = { route: request.is404 ? 'unmatched' : routeOf(request), method: request.method };
    metrics.httpRequests.inc({ ...labels, status: String(reply.statusCode) });
    metrics.httpRequestSeconds.observe(labels, seconds);
    endSpan?.(reply.statusCode);
    logRequest(log, request, reply.statusCode, seconds);
    done();
  });
}

function callerTrace(request: FastifyRequest): string | null {
  const { traceparent } = request.headers;
  return typeof traceparent === 'string' && parseTraceparent(traceparent) !== null ? traceparent : null;
}

/** The span covers the whole request: it starts here and ends with the response. */
function startSpan(tracing: Tracing, request: FastifyRequest, caller: string | null, next: () => void): void {
  const route = request.is404 ? 'unmatched' : routeOf(request);
  const attributes = { 'http.request.method': request.method, 'http.route': route, 'url.path': pathOf(request) };
  const run = (span: Span): Promise<void> => {
    request.heddle.traceparent = tracing.traceparentOf(span);
    const ended = new Promise<void>((resolve, reject) => {
      request.heddle.endSpan = (status) => {
        span.setAttribute('http.response.status_code', status);
        if (status >= 500) reject(new Error(`answered ${status}`));
        else resolve();
      };
    });
    next();
    return ended;
  };
  tracing
    .span(`${request.method} ${route}`, { kind: 'server', parent: caller, attributes }, run)
    .catch(() => undefined);
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0]!;
}

/** Logs failures of the server as errors, rejections as information, and the rest for debugging. */
function logRequest(log: Logger, request: FastifyRequest, status: number, seconds: number): void {
  const fields = {
    method: request.method,
    path: pathOf(request),
    status,
    duration_ms: Math.round(seconds * 1e5) / 100,
    remote: request.ip,
  };
  const message = `${request.method} ${fields.path} ${status}`;
  if (status >= 500) log.warn(fields, message);
  else if (status >= 400) log.info(fields, message);
  else log.debug(fields, message);
}
