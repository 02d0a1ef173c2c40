import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

import type { Registry } from 'prom-client';

import type { Clock } from '@heddle/base/clock';
import { REMOTE_CODES, RemoteFailure } from '../protocol/codes.ts';
import { refusalPayload } from '../protocol/refusal.ts';
import type { UnprovenShare } from '../unproven-memory.ts';
import { answerPoll, type PollOrigin } from './poll.ts';

export interface RouteContext extends PollOrigin {
  readonly registry: Registry;
  readonly bodyBytesMax: number;
  readonly clock: Clock;
  readonly onProven: () => void;
  /** Accounts for bodies held while no key has been proven on the connection. */
  readonly share: UnprovenShare;
}

const HEALTH_PATH = '/healthz';
const METRICS_PATH = '/metrics';
const POLL_PATH = /^\/poll\/([A-Za-z0-9-]{1,64})$/;
const READING = 'GET, HEAD';
const POLLING = 'POST';

/** Handles one request. Paths are compared as sent: nothing is decoded, joined or resolved. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  context: RouteContext,
): Promise<void> {
  const { url = '', method = '' } = request;
  const [, correlationId] = POLL_PATH.exec(url) ?? [];
  const allowed = correlationId !== undefined ? POLLING : [HEALTH_PATH, METRICS_PATH].includes(url) ? READING : null;
  if (allowed === null) send(response, 404, {}, text('not found\n'));
  else if (!allowed.split(', ').includes(method)) {
    send(response, 405, { allow: allowed }, text(`allowed methods: ${allowed}\n`));
  } else if (correlationId !== undefined) await poll(request, response, correlationId, context);
  else if (url === HEALTH_PATH) health(response, context);
  else await metrics(response, context.registry);
}

/** Returns 503 while draining, so that load balancers stop sending requests. A degraded executor still serves. */
function health(response: ServerResponse, { manager }: RouteContext): void {
  const state = manager.health();
  const status = state.status === 'draining' ? 503 : 200;
  send(response, status, { 'content-type': 'application/json; charset=utf-8' }, text(`${JSON.stringify(state)}\n`));
}

async function metrics(response: ServerResponse, registry: Registry): Promise<void> {
  send(response, 200, { 'content-type': registry.contentType }, text(await registry.metrics()));
}

async function poll(
  request: IncomingMessage,
  response: ServerResponse,
  correlationId: string,
  context: RouteContext,
): Promise<void> {
  try {
    const body = await bodyOf(request, context);
    const answer = await answerPoll(request, correlationId, body, context);
    if (answer.proven) context.onProven();
    send(response, answer.status, answer.headers, answer.body);
  } catch (error) {
    if (!(error instanceof RemoteFailure)) throw error;
    // The rest of the request is not read.
    response.shouldKeepAlive = request.complete;
    const payload = refusalPayload(error, context.clock.now());
    send(response, REMOTE_CODES[error.code].status, { 'content-type': 'application/json; charset=utf-8' }, payload);
  }
}

async function bodyOf(request: IncomingMessage, { bodyBytesMax: bytesMax, share }: RouteContext): Promise<Buffer> {
  const tooLarge = new RemoteFailure('MALFORMED', `The payload is larger than ${bytesMax} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge;
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > bytesMax) throw tooLarge;
      parts.push(part);
      share.hold(size);
    }
    return Buffer.concat(parts);
  } finally {
    share.hold(0);
  }
}

/** Sends the response, unless the connection is gone. */
export function send(response: ServerResponse, status: number, headers: OutgoingHttpHeaders, body: Uint8Array): void {
  if (response.destroyed || response.headersSent) return;
  const safe = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, { ...safe, ...headers, 'content-length': body.length });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

function text(content: string): Buffer {
  return Buffer.from(content);
}
