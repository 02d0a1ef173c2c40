import { setMaxListeners } from 'node:events';
import { Agent, request as sendRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import type { Clock } from '@heddle/base/clock';
import { bareHost } from '@heddle/base/net/address';
import { messageOf } from '@heddle/base/thrown';
import {
  type CallOptions,
  type ClientTls,
  type ClientTransport,
  type Endpoint,
  TransportFailure,
} from '../client/port.ts';
import { CONNECT_MS, connectTo, requireSafeEndpoint } from '../connect.ts';
import { ANSWER_BYTES_MAX } from '../listener.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import { malformed, refusalPayload } from '../protocol/refusal.ts';
import { PATH } from './exchange.ts';
import { failureOfFault } from './faults.ts';
import { XMLRPC_LIMITS } from './limits.ts';
import { XmlRpcReader } from './reader.ts';
import { Lane } from './lane.ts';
import { readResponseStruct, requestStruct } from './structs.ts';
import type { XmlRpcDocument } from './values.ts';
import { writeCall } from './writer.ts';

export interface XmlRpcTransportOptions {
  readonly clock: Clock;
  /** Timeout for a connection, including TLS, ms; default 10,000. */
  readonly connect_ms?: number;
  /** Maximum connections, beyond which calls wait; default 64. */
  readonly connections_max?: number;
  /** Largest response document, bytes; default: enough for 64 MiB of payload. */
  readonly document_bytes_max?: number;
}

const CONNECTIONS_MAX = 64;
/** Connections reserved for short calls, so that long tasks do not block their cancellation. */
const SHORT_CONNECTIONS = 8;
/** Faults may contain long text. */
const TEXT_CHARS_MAX = 256 * 1024;
const DOCUMENT_BYTES_MAX = Math.ceil((ANSWER_BYTES_MAX * 4) / 3) + 64 * 1024;

/**
 * Opens a transport that connects on demand, keeps its connections, and reconnects when they are lost. @param tls null
 * only on loopback
 */
export function openXmlRpcTransport(
  endpoint: Endpoint,
  tls: ClientTls | null,
  options: XmlRpcTransportOptions,
): ClientTransport {
  requireSafeEndpoint(endpoint, tls);
  return new XmlRpcTransport(endpoint, tls, options);
}

/** Pools connections created by `connectTo`; the HTTP layer does not know about TLS. */
class PooledConnections extends Agent {
  readonly #connect: () => Promise<Duplex>;

  constructor(connectionsMax: number, connect: () => Promise<Duplex>) {
    super({ keepAlive: true, maxFreeSockets: connectionsMax, scheduling: 'lifo' });
    this.#connect = connect;
  }

  override createConnection(_options: object, callback: (error: Error | null, stream?: Duplex) => void): undefined {
    this.#connect().then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error as Error),
    );
  }
}

class XmlRpcTransport implements ClientTransport {
  readonly endpoint: Endpoint;
  readonly #documentBytesMax: number;
  readonly #connections: PooledConnections;
  /** Calls are counted, because the agent does not count connections that are still being opened. */
  readonly #long: Lane;
  readonly #short: Lane;
  readonly #closing = new AbortController();

  constructor(endpoint: Endpoint, tls: ClientTls | null, options: XmlRpcTransportOptions) {
    this.endpoint = endpoint;
    this.#documentBytesMax = options.document_bytes_max ?? DOCUMENT_BYTES_MAX;
    const connectMs = options.connect_ms ?? CONNECT_MS;
    const connect = (): Promise<Duplex> => connectTo(endpoint, tls, { clock: options.clock, connectMs });
    const connectionsMax = options.connections_max ?? CONNECTIONS_MAX;
    this.#connections = new PooledConnections(connectionsMax, connect);
    this.#long = new Lane(Math.max(1, connectionsMax - SHORT_CONNECTIONS));
    this.#short = new Lane(Math.max(1, Math.min(SHORT_CONNECTIONS, connectionsMax - 1)));
    setMaxListeners(0, this.#closing.signal);
  }

  async call(request: SignedRequest, options: CallOptions): Promise<SignedResponse> {
    const body = Buffer.from(writeCall(`heddle.${request.method}`, requestStruct(request)));
    if (body.length > XMLRPC_LIMITS.document_bytes_max)
      throw malformed(`payload: has ${request.payload.length} bytes, more than fit into a document`);
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const lane = request.method === 'submit' || request.method === 'poll' ? this.#long : this.#short;
    await enterLane(lane, signal);
    try {
      return await this.#send(request, body, options, signal);
    } finally {
      lane.leave();
    }
  }

  close(): Promise<void> {
    this.#closing.abort(new Error('the transport was closed'));
    this.#connections.destroy();
    return Promise.resolve();
  }

  #send(request: SignedRequest, body: Buffer, options: CallOptions, signal: AbortSignal): Promise<SignedResponse> {
    const { host, port } = this.endpoint;
    const agent = this.#connections;
    const headers = headersOf(body, options);
    const sent = sendRequest({ agent, host: bareHost(host), port, path: PATH, method: 'POST', headers });
    return new Promise((resolve, reject) => {
      let hasSocket = false;
      let hasResponse = false;
      const fail = (error: unknown): void => reject(asTransportFailure(error, hasSocket, signal));
      const onAbort = (): void => void sent.destroy(new Error('the call was aborted'));
      signal.addEventListener('abort', onAbort, { once: true });
      sent.once('socket', () => (hasSocket = true));
      sent.on('error', fail);
      sent.once('close', () => {
        signal.removeEventListener('abort', onAbort);
        if (!hasResponse) fail(new Error('the connection was closed'));
      });
      sent.once('response', (response) => {
        hasResponse = true;
        this.#read(response)
          .then((document) => resolve(answerOf(request, document, response)))
          .catch(fail);
      });
      sent.end(body);
    });
  }

  async #read(response: IncomingMessage): Promise<XmlRpcDocument> {
    const { statusCode = 0 } = response;
    if (statusCode !== 200) {
      response.destroy();
      // Only an intermediary may have forwarded the request before failing; the executor itself responds 200 to
      // accepted requests.
      throw new TransportFailure(
        `the executor responded with HTTP ${statusCode}`,
        statusCode > 500 && statusCode !== 503,
      );
    }
    const reader = new XmlRpcReader({ document_bytes_max: this.#documentBytesMax, text_chars_max: TEXT_CHARS_MAX });
    try {
      for await (const chunk of response) reader.write(chunk as Buffer);
      return reader.end();
    } finally {
      if (!response.complete) response.destroy();
    }
  }
}

/** Waits for a slot in the lane. @throws TransportFailure if the caller aborts first */
async function enterLane(lane: Lane, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw asTransportFailure(null, false, signal);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const slot = { taken: false };
  const stopWaiting = lane.enter(() => {
    slot.taken = true;
    resolve(undefined);
  });
  const onAbort = (): void => resolve(undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  await promise;
  signal.removeEventListener('abort', onAbort);
  if (!hasAborted(signal)) return;
  if (slot.taken) lane.leave();
  else stopWaiting();
  throw asTransportFailure(null, false, signal);
}

/** A function, because the compiler assumes that the value is unchanged across the await. */
function hasAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function headersOf(body: Buffer, { token, traceparent }: CallOptions): Record<string, string | number> {
  return {
    'content-type': 'text/xml; charset=utf-8',
    'content-length': body.length,
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(traceparent === null ? {} : { traceparent }),
  };
}

/** Converts the document to a response; an unsigned fault becomes a response without MAC. */
function answerOf(request: SignedRequest, document: XmlRpcDocument, { headers }: IncomingMessage): SignedResponse {
  if (document.kind === 'response') return readResponseStruct(request.method, document.value);
  if (document.kind === 'call') throw malformed('xml: must be a methodResponse');
  const date = Date.parse(headers.date ?? '');
  const timestamp_ms = Number.isFinite(date) ? date : request.timestamp_ms;
  const { key_id, nonce, client, audience, method } = request;
  const payload = refusalPayload(failureOfFault(document.message), timestamp_ms);
  const mac = new Uint8Array(0);
  return { key_id, timestamp_ms, nonce, client, audience, method, correlation_id: '', sequence: 0, payload, mac };
}

function asTransportFailure(error: unknown, maybeReceived: boolean, signal: AbortSignal): TransportFailure {
  if (error instanceof TransportFailure) return error;
  if (signal.aborted) return new TransportFailure('the call was aborted', maybeReceived, signal.reason);
  return new TransportFailure(`the connection failed: ${messageOf(error)}`, maybeReceived, error);
}
