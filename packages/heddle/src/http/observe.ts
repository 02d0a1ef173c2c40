import type { IncomingMessage } from 'node:http';

import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Metrics } from '@heddle/core/metrics/metrics';
import { parseTraceparent, type Span, type Tracing } from '@heddle/base/trace';
import { handedOver } from './direct/handed-over.ts';
import { newRequestState, type RequestState } from './request-state.ts';

/** A request of the framework, or one that is served directly. */
type ObservedRequest = Pick<IncomingMessage, 'method' | 'url' | 'socket'> & { readonly ip?: string };

interface Observers {
  clock: Clock;
  log: Logger;
  metrics: Metrics;
}

/** Measures, traces and logs each request. URLs are logged without their query, which may contain a handle. */
export function observeRequests(app: FastifyInstance, observers: Observers & { tracing: Tracing }): void {
  const { clock, tracing } = observers;
  app.decorateRequest('heddle', null as unknown as RequestState);
  app.addHook('onRequest', (request, _reply, done) => {
    const state = handedOver(request.raw)?.state ?? newRequestState(clock.monotonic(), request.routeOptions.config);
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
    request.heddle.endSpan?.(reply.statusCode);
    recordResponse(observers, request, request.heddle, reply.statusCode);
    done();
  });
}

/** Counts, times and logs a request that was answered. */
export function recordResponse(
  { clock, log, metrics }: Observers,
  request: ObservedRequest,
  { startedAt, route }: RequestState,
  status: number,
): void {
  const seconds = (clock.monotonic() - startedAt) / 1000;
  const labels = { route: route.url ?? 'unmatched', method: request.method! };
  metrics.httpRequests.inc({ ...labels, status: String(status) });
  metrics.httpRequestSeconds.observe(labels, seconds);
  logRequest(log, request, status, seconds);
}

/** Returns the trace context that the caller sent; null if there is none. */
export function callerTrace({ headers: { traceparent } }: Pick<IncomingMessage, 'headers'>): string | null {
  return typeof traceparent === 'string' && parseTraceparent(traceparent) !== null ? traceparent : null;
}

/** The span covers the whole request: it starts here and ends with the response. */
function startSpan(tracing: Tracing, request: FastifyRequest, caller: string | null, next: () => void): void {
  const route = request.heddle.route.url ?? 'unmatched';
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

function pathOf({ url }: ObservedRequest): string {
  return url!.split('?', 1)[0]!;
}

/** Logs failures of the server as errors, rejections as information, and the rest for debugging. */
function logRequest(log: Logger, request: ObservedRequest, status: number, seconds: number): void {
  if (status < 400 && log.writesDebug === false) return;
  const fields = {
    method: request.method,
    path: pathOf(request),
    status,
    duration_ms: Math.round(seconds * 1e5) / 100,
    remote: request.ip ?? request.socket.remoteAddress,
  };
  const message = `${request.method} ${fields.path} ${status}`;
  if (status >= 500) log.warn(fields, message);
  else if (status >= 400) log.info(fields, message);
  else log.debug(fields, message);
}
