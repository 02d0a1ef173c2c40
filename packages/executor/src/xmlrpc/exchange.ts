import type { IncomingMessage, ServerResponse } from 'node:http';

import { REMOTE_CODES, RemoteFailure } from '../protocol/codes.ts';
import type { SignedRequest } from '../protocol/envelope.ts';
import { REMOTE_METHODS, type RemoteMethod } from '../protocol/messages.ts';
import type { RemoteManager, Reply } from '../manager/port.ts';
import { provesKey } from '../connections.ts';
import { malformed } from '../protocol/refusal.ts';
import type { PeerCertificate } from '../security/port.ts';
import type { UnprovenShare } from '../unproven-memory.ts';
import { failureOfPayload, faultString } from './faults.ts';
import { XmlRpcReader } from './reader.ts';
import { readRequestStruct, responseStruct } from './structs.ts';
import type { XmlRpcDocument } from './values.ts';
import { writeFault, writeResponse } from './writer.ts';

export const PATH = '/RPC2';
const METHOD_PREFIX = 'heddle.';
const METHODS = new Map(REMOTE_METHODS.map((method): [string, RemoteMethod] => [METHOD_PREFIX + method, method]));
const LIST_METHODS = 'system.listMethods';
const CONTENT_TYPE = /^(text|application)\/xml\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;
const BEARER = /^Bearer +([^\s]+)$/i;

/** Shared parts of all exchanges of one connection. */
export interface ExchangeContext {
  readonly manager: RemoteManager;
  readonly documentBytesMax: number;
  readonly peer: PeerCertificate | null;
  readonly remoteAddress: string;
  /** Called with the change in memory of incomplete documents; returns false if the total limit is exceeded. */
  onPartial(delta: number): boolean;
  /** Runs work when the queue admits the connection. */
  enter(run: () => void): void;
  /** Memory account of the connection while it is unproven. */
  readonly share: UnprovenShare;
  /** Rejects the document being read; null if none is. */
  refuseUnfinished: (() => void) | null;
  /** Called when the peer has proven that it holds a key. */
  onProven(): void;
  /** Called if the connection ends with this response, so that later requests are ignored. */
  onLast(): void;
}

/** A request rejected at the HTTP level. */
interface HttpRefusal {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Reads and handles one request. Never rejects. @param signal aborts when the connection is gone */
export async function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  context: ExchangeContext,
  signal: AbortSignal,
): Promise<void> {
  const refusal = refusalOf(request, context.documentBytesMax);
  if (refusal !== null) {
    context.onLast();
    refuse(request, response, refusal);
    return;
  }
  let document: XmlRpcDocument | null;
  try {
    document = await readBody(request, context);
  } catch (error) {
    context.onLast();
    if (error instanceof RemoteFailure) answerAndClose(response, faultOf(error), context);
    else response.destroy();
    return;
  }
  try {
    const signedRequest = requestIn(document);
    // The document is not retained while waiting for the response.
    document = null;
    answer(response, await answerTo(signedRequest, request, context, signal));
  } catch (error) {
    answer(response, faultOf(error instanceof RemoteFailure ? error : new RemoteFailure('INTERNAL')));
    if (!(error instanceof RemoteFailure)) throw error;
  }
}

interface XmlAnswer {
  readonly text: string;
  readonly retryAfterSecs: number | undefined;
}

/** Extracts the request; null if it asks for the list of methods. @throws RemoteFailure MALFORMED */
function requestIn(document: XmlRpcDocument): SignedRequest | null {
  if (document.kind !== 'call') throw malformed('xml: must be a methodCall');
  if (document.method === LIST_METHODS) return null;
  const method = METHODS.get(document.method);
  if (method === undefined)
    throw malformed(`${document.method.slice(0, 64)}: is not a known method; ${LIST_METHODS} lists them`);
  return readRequestStruct(method, document.params);
}

async function answerTo(
  signedRequest: SignedRequest | null,
  request: IncomingMessage,
  context: ExchangeContext,
  signal: AbortSignal,
): Promise<XmlAnswer> {
  if (signedRequest === null)
    return { text: writeResponse([...METHODS.keys(), LIST_METHODS]), retryAfterSecs: undefined };
  const reply = await context.manager.handle({
    ingress: 'xmlrpc',
    request: signedRequest,
    peer: context.peer,
    token: BEARER.exec(request.headers.authorization ?? '')?.[1] ?? null,
    traceparent: headerOf(request, 'traceparent'),
    remoteAddress: context.remoteAddress,
    signal,
  });
  if (provesKey(reply)) context.onProven();
  return answerOfReply(reply);
}

/** Returns a signed response, even for errors; only unsigned errors become faults. */
function answerOfReply({ response, retryAfterSecs }: Reply): XmlAnswer {
  if (response.mac.length > 0) return { text: writeResponse(responseStruct(response)), retryAfterSecs };
  return faultOf(failureOfPayload(response.payload));
}

function faultOf({ code, message, details, retryAfterSecs }: RemoteFailure): XmlAnswer {
  return { text: writeFault(REMOTE_CODES[code].number, faultString(code, message, details)), retryAfterSecs };
}

async function readBody(request: IncomingMessage, context: ExchangeContext): Promise<XmlRpcDocument> {
  const reader = new XmlRpcReader({ document_bytes_max: context.documentBytesMax });
  let held = 0;
  const { promise, resolve, reject } = Promise.withResolvers<XmlRpcDocument>();
  const refuseUnfinished = (): void => {
    request.removeAllListeners('data').removeAllListeners('end');
    reject(new RemoteFailure('QUEUE_FULL', 'The memory for incomplete requests is full', { retryAfterSecs: 1 }));
  };
  context.refuseUnfinished = refuseUnfinished;
  const attempt = (step: () => void): void => {
    try {
      step();
    } catch (error) {
      request.removeAllListeners('data').removeAllListeners('end');
      reject(error);
    }
  };
  const take = (chunk: Buffer): void => {
    reader.write(chunk);
    const more = reader.heldBytes - held;
    held += more;
    if (!context.onPartial(more)) refuseUnfinished();
    else context.share.hold(held);
  };
  let isDone = false;
  // Queued pieces, which may outlast the request.
  let waiting = 0;
  let hasEnded = false;
  const endWhenRead = (): void => {
    if (hasEnded && waiting === 0) attempt(() => resolve(reader.end()));
  };
  request.on('data', (chunk: Buffer) => {
    request.pause();
    waiting += 1;
    context.enter(() => {
      waiting -= 1;
      if (isDone) return;
      attempt(() => take(chunk));
      endWhenRead();
      request.resume();
    });
  });
  request.on('end', () => {
    hasEnded = true;
    endWhenRead();
  });
  const onClose = (): void => {
    if (!hasEnded) reject(new Error('the request was truncated'));
  };
  request.once('close', onClose);
  try {
    return await promise;
  } finally {
    isDone = true;
    // The listeners would retain the input until the request is answered.
    request.removeAllListeners('data').removeAllListeners('end').off('close', onClose);
    context.onPartial(-held);
    context.share.hold(0);
    context.refuseUnfinished = null;
  }
}

function refusalOf(request: IncomingMessage, documentBytesMax: number): HttpRefusal | null {
  const { method, url, headers } = request;
  if (headers.host === undefined) return { status: 400, text: 'the Host header is required' };
  if (url !== PATH) return { status: 404, text: `not found; use POST ${PATH}` };
  if (method !== 'POST')
    return { status: 405, text: `method not allowed; use POST ${PATH}`, headers: { allow: 'POST' } };
  if (!CONTENT_TYPE.test(headers['content-type'] ?? ''))
    return { status: 415, text: 'Content-Type must be text/xml, in UTF-8' };
  if (headers['content-encoding'] !== undefined) return { status: 415, text: 'Content-Encoding is not supported' };
  if (Number(headers['content-length'] ?? 0) > documentBytesMax)
    return { status: 413, text: `the body must have at most ${documentBytesMax} bytes` };
  return null;
}

/** Responds and closes without waiting for the rest of the body. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, text, headers }: HttpRefusal,
): void {
  request.resume();
  response.shouldKeepAlive = false;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(`${text}\n`);
}

function answerAndClose(response: ServerResponse, fault: XmlAnswer, context: ExchangeContext): void {
  const { req } = response;
  // Discards the rest as the queue admits it.
  req.on('data', () => {
    req.pause();
    context.enter(() => void req.resume());
  });
  req.resume();
  response.shouldKeepAlive = false;
  answer(response, fault);
}

function answer(response: ServerResponse, { text, retryAfterSecs }: XmlAnswer): void {
  if (response.destroyed) return;
  const body = Buffer.from(text);
  response.writeHead(200, {
    'content-type': 'text/xml; charset=utf-8',
    'content-length': body.length,
    ...(retryAfterSecs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSecs))) }),
  });
  response.end(body);
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
