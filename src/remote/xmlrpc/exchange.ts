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

/** What the exchanges of one connection have in common. */
export interface ExchangeSurroundings {
  readonly manager: RemoteManager;
  readonly documentBytesMax: number;
  readonly peer: PeerCertificate | null;
  readonly remoteAddress: string;
  /** By how many bytes of memory unfinished documents hold more, or less. False where there is no room for them. */
  onPartial(delta: number): boolean;
  /** Reads a piece when it is the connection's turn. */
  enter(run: () => void): void;
  /** Where the connection counts the same while nobody has proven a key over it. */
  readonly share: UnprovenShare;
  /** Refuses the document that is being read; null where none is. */
  refuseUnfinished: (() => void) | null;
  /** Somebody who holds a key is at the other end. */
  onProven(): void;
  /** The connection ends with this answer: what was sent behind its request is not to be acted on. */
  onLast(): void;
}

/** A request that HTTP alone says is not for here. */
interface HttpRefusal {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Reads one request and answers it. Never rejects. @param signal aborts when the connection is gone */
export async function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  around: ExchangeSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const refusal = refusalOf(request, around.documentBytesMax);
  if (refusal !== null) {
    around.onLast();
    refuse(request, response, refusal);
    return;
  }
  let document: XmlRpcDocument | null;
  try {
    document = await readBody(request, around);
  } catch (error) {
    around.onLast();
    if (error instanceof RemoteFailure) answerAndClose(response, faultOf(error), around);
    else response.destroy();
    return;
  }
  try {
    const asked = askedOf(document);
    // What it was read from is not held while the answer is waited for.
    document = null;
    answer(response, await answerTo(asked, request, around, signal));
  } catch (error) {
    answer(response, faultOf(error instanceof RemoteFailure ? error : new RemoteFailure('INTERNAL')));
    if (!(error instanceof RemoteFailure)) throw error;
  }
}

interface XmlAnswer {
  readonly text: string;
  readonly retryAfterSecs: number | undefined;
}

/** The request of a document; null where it asks for the names of the methods. @throws RemoteFailure MALFORMED */
function askedOf(document: XmlRpcDocument): SignedRequest | null {
  if (document.kind !== 'call') throw malformed('xml: must be a methodCall');
  if (document.method === LIST_METHODS) return null;
  const method = METHODS.get(document.method);
  if (method === undefined)
    throw malformed(`${document.method.slice(0, 64)}: is no method; ${LIST_METHODS} names them`);
  return readRequestStruct(method, document.params);
}

async function answerTo(
  asked: SignedRequest | null,
  request: IncomingMessage,
  around: ExchangeSurroundings,
  signal: AbortSignal,
): Promise<XmlAnswer> {
  if (asked === null) return { text: writeResponse([...METHODS.keys(), LIST_METHODS]), retryAfterSecs: undefined };
  const reply = await around.manager.handle({
    ingress: 'xmlrpc',
    request: asked,
    peer: around.peer,
    token: BEARER.exec(request.headers.authorization ?? '')?.[1] ?? null,
    traceparent: headerOf(request, 'traceparent'),
    remoteAddress: around.remoteAddress,
    signal,
  });
  if (provesKey(reply)) around.onProven();
  return answerOfReply(reply);
}

/** What is signed is an answer, an error too; only what nobody signed is a fault. */
function answerOfReply({ response, retryAfterSecs }: Reply): XmlAnswer {
  if (response.mac.length > 0) return { text: writeResponse(responseStruct(response)), retryAfterSecs };
  return faultOf(failureOfPayload(response.payload));
}

function faultOf({ code, message, details, retryAfterSecs }: RemoteFailure): XmlAnswer {
  return { text: writeFault(REMOTE_CODES[code].number, faultString(code, message, details)), retryAfterSecs };
}

async function readBody(request: IncomingMessage, around: ExchangeSurroundings): Promise<XmlRpcDocument> {
  const reader = new XmlRpcReader({ document_bytes_max: around.documentBytesMax });
  let held = 0;
  const { promise, resolve, reject } = Promise.withResolvers<XmlRpcDocument>();
  const refuseUnfinished = (): void => {
    request.removeAllListeners('data').removeAllListeners('end');
    reject(new RemoteFailure('QUEUE_FULL', 'Too much of unfinished requests is held', { retryAfterSecs: 1 }));
  };
  around.refuseUnfinished = refuseUnfinished;
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
    if (!around.onPartial(more)) refuseUnfinished();
    else around.share.hold(held);
  };
  let isOver = false;
  // Pieces that wait for their turn: a request may end, and close, before it is theirs.
  let waiting = 0;
  let hasEnded = false;
  const endWhenRead = (): void => {
    if (hasEnded && waiting === 0) attempt(() => resolve(reader.end()));
  };
  request.on('data', (chunk: Buffer) => {
    request.pause();
    waiting += 1;
    around.enter(() => {
      waiting -= 1;
      if (isOver) return;
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
    if (!hasEnded) reject(new Error('the request was cut off'));
  };
  request.once('close', onClose);
  try {
    return await promise;
  } finally {
    isOver = true;
    // They hold what was read as long as the request is there: until it is answered.
    request.removeAllListeners('data').removeAllListeners('end').off('close', onClose);
    around.onPartial(-held);
    around.share.hold(0);
    around.refuseUnfinished = null;
  }
}

function refusalOf(request: IncomingMessage, documentBytesMax: number): HttpRefusal | null {
  const { method, url, headers } = request;
  if (headers.host === undefined) return { status: 400, text: 'a Host header is needed' };
  if (url !== PATH) return { status: 404, text: `POST ${PATH} is what there is` };
  if (method !== 'POST') return { status: 405, text: `POST ${PATH} is what there is`, headers: { allow: 'POST' } };
  if (!CONTENT_TYPE.test(headers['content-type'] ?? ''))
    return { status: 415, text: 'Content-Type must be text/xml, in UTF-8' };
  if (headers['content-encoding'] !== undefined) return { status: 415, text: 'Content-Encoding is not taken' };
  if (Number(headers['content-length'] ?? 0) > documentBytesMax)
    return { status: 413, text: `at most ${documentBytesMax} bytes are taken` };
  return null;
}

/** Answers and closes; what is left of the body is not waited for. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, text, headers }: HttpRefusal,
): void {
  request.resume();
  response.shouldKeepAlive = false;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(`${text}\n`);
}

function answerAndClose(response: ServerResponse, fault: XmlAnswer, around: ExchangeSurroundings): void {
  const { req } = response;
  // The rest is read into nothing, when it is its turn.
  req.on('data', () => {
    req.pause();
    around.enter(() => void req.resume());
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
