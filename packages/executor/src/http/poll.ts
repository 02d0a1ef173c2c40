import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';

import { parseTraceparent } from '@heddle/base/trace';
import { provesKey } from '../connections.ts';
import type { RemoteManager, Reply } from '../manager/port.ts';
import { REMOTE_CODES } from '../protocol/codes.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import { malformed } from '../protocol/refusal.ts';
import type { PeerCertificate } from '../security/port.ts';

export interface PollAnswer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array;
  /** Whether the caller has proven that it holds a key. */
  readonly proven: boolean;
}

export interface PollOrigin {
  readonly manager: RemoteManager;
  readonly peer: PeerCertificate | null;
  readonly remoteAddress: string;
  readonly signal: AbortSignal;
}

const PENDING_STATUS = 202;
const TIMESTAMP = /^\d{1,16}$/;
const BASE64URL = /^[A-Za-z0-9_-]{0,512}$/;

/** Handles `POST /poll/{id}`, whose envelope is carried in headers. @throws RemoteFailure MALFORMED */
export async function answerPoll(
  request: IncomingMessage,
  correlationId: string,
  body: Uint8Array,
  origin: PollOrigin,
): Promise<PollAnswer> {
  const { headers } = request;
  const traceparent = textOf(headers, 'traceparent');
  const reply = await origin.manager.handle({
    ingress: 'http',
    request: envelopeOf(headers, body),
    peer: origin.peer,
    token: /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null,
    traceparent: parseTraceparent(traceparent) === null ? null : traceparent,
    remoteAddress: origin.remoteAddress,
    pathCorrelationId: correlationId,
    signal: origin.signal,
  });
  const { response, retryAfterSecs } = reply;
  return {
    status: statusOf(reply),
    headers: {
      'content-type': 'application/json; charset=utf-8',
      ...headersOf(response),
      ...(retryAfterSecs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterSecs)) }),
    },
    body: response.payload,
    proven: provesKey(reply),
  };
}

function statusOf({ code, pending, response }: Reply): number {
  if (pending) return PENDING_STATUS;
  // A task's outcome is a successful poll, whatever the status of its code.
  return code === null || response.correlation_id !== '' ? 200 : REMOTE_CODES[code].status;
}

function envelopeOf(headers: IncomingHttpHeaders, payload: Uint8Array): SignedRequest {
  const timestamp = textOf(headers, 'heddle-timestamp') ?? '';
  const mac = textOf(headers, 'heddle-mac') ?? '';
  if (!TIMESTAMP.test(timestamp)) throw malformed('heddle-timestamp: must be whole milliseconds since the epoch');
  if (!BASE64URL.test(mac)) throw malformed('heddle-mac: must be base64url without padding');
  return {
    key_id: textOf(headers, 'heddle-key-id') ?? '',
    timestamp_ms: Number(timestamp),
    nonce: textOf(headers, 'heddle-nonce') ?? '',
    client: textOf(headers, 'heddle-client') ?? '',
    audience: textOf(headers, 'heddle-audience') ?? '',
    method: 'poll',
    payload,
    mac: Buffer.from(mac, 'base64url'),
  };
}

function textOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}

function headersOf(response: SignedResponse): OutgoingHttpHeaders {
  // An unsigned response echoes unverified input, which must not go into headers.
  if (response.mac.length === 0) return {};
  return {
    'heddle-key-id': response.key_id,
    'heddle-timestamp': String(response.timestamp_ms),
    'heddle-nonce': response.nonce,
    'heddle-client': response.client,
    'heddle-audience': response.audience,
    'heddle-correlation-id': response.correlation_id,
    'heddle-sequence': String(response.sequence),
    'heddle-mac': Buffer.from(response.mac).toString('base64url'),
  };
}
