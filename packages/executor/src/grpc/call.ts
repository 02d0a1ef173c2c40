import type { Metadata } from '@grpc/grpc-js';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { parseTraceparent } from '@heddle/base/trace';
import { provesKey } from '../connections.ts';
import type { RemoteManager, Reply } from '../manager/port.ts';
import { RemoteFailure, type RemoteCode } from '../protocol/codes.ts';
import type { SignedRequest } from '../protocol/envelope.ts';
import { refusalPayload } from '../protocol/refusal.ts';
import { Arrival, type RawCall } from './arrival.ts';
import type { GrpcLimits } from './limits.ts';
import type { GrpcPackage } from './packages.ts';
import type { Peer, Peers } from './peers.ts';
import { GRPC_STATUS } from './status.ts';
import { ANSWER_METADATA, CODE_METADATA, type GrpcWire } from './wire.ts';

/** Shared parts of all calls of one listener. */
export interface CallContext {
  readonly grpc: GrpcPackage;
  readonly wire: GrpcWire;
  readonly manager: RemoteManager;
  readonly peers: Peers;
  readonly limits: GrpcLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Limit of unanswered requests per connection, as a multiple of its streams, because callers may leave without waiting.
 */
const UNANSWERED_FACTOR = 2;
/** Unsigned responses beyond this are too long for metadata; the status carries their code and message as well. */
const TRAILER_BYTES_MAX = 4_096;
const STATUS_TEXT_MAX = 512;

/** Handles one call. @param progress whether progress responses are sent */
export function handleCall(context: CallContext, call: RawCall, progress: boolean): void {
  const peer = context.peers.get(call.getPeer());
  const served = new ServedCall(context, call, peer, progress);
  if (peer === undefined) served.fail('UNAVAILABLE', 'the connection is closing');
  else if (peer.unanswered >= context.limits.in_flight_max * UNANSWERED_FACTOR) {
    served.fail('RESOURCE_EXHAUSTED', 'too many unanswered requests on this connection');
  } else served.receive(peer);
}

class ServedCall {
  readonly #context: CallContext;
  readonly #call: RawCall;
  readonly #peer: Peer | undefined;
  readonly #progress: boolean;
  readonly #disconnected = new AbortController();
  #message: Buffer | null = null;
  #arrival: Arrival | null = null;
  #ended = false;
  /** Bytes of responses not yet taken by the peer. */
  #outputBytes = 0;
  /** Latest progress response, held while the previous one is being sent. */
  #held: Buffer | null = null;

  constructor(context: CallContext, call: RawCall, peer: Peer | undefined, progress: boolean) {
    this.#context = context;
    this.#call = call;
    this.#peer = peer;
    this.#progress = progress;
    // Emitted once, however the call ended; unsent data is lost.
    call.once('cancelled', () => {
      this.#ended = true;
      this.#disconnected.abort(new Error('the caller disconnected'));
      this.#peer?.sent(this.#outputBytes);
      this.#outputBytes = 0;
    });
  }

  receive(peer: Peer): void {
    this.#arrival = new Arrival(this.#call, peer, this.#context, {
      arrived: (message) => {
        this.#message = message;
        void this.#answer(peer);
      },
      failed: (status, details) => this.fail(status, details),
    });
  }

  /** Ends the call with a transport status; nothing was handled. */
  fail(status: keyof typeof GRPC_STATUS, details: string, metadata?: Metadata): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#arrival?.abandon();
    const code = GRPC_STATUS[status];
    this.#call.emit('error', { code, details: printable(details), ...(metadata === undefined ? {} : { metadata }) });
  }

  /** Takes the request and drops the reference, because the response may take long. */
  #takeRequest(): SignedRequest {
    const message = this.#message!;
    this.#message = null;
    return this.#context.wire.decodeRequest(message);
  }

  async #answer(peer: Peer): Promise<void> {
    peer.unanswered += 1;
    // The library keeps a message's buffers for the lifetime of its call.
    const bytes = this.#message?.length ?? 0;
    try {
      const reply = await this.#context.manager.handle(
        this.#received(peer, this.#takeRequest()),
        this.#progress ? (onTheWay) => this.#sendProgress(onTheWay) : undefined,
      );
      if (reply.response.mac.length === 0) this.#refuse(reply);
      else {
        if (provesKey(reply)) this.#context.peers.markProven(this.#call.getPeer());
        this.#end(this.#context.wire.encodeAnswer({ response: reply.response, final: true }));
      }
    } catch (error) {
      this.#refuseUnread(error);
    } finally {
      peer.unanswered -= 1;
      peer.release(bytes);
    }
  }

  #received(peer: Peer, request: SignedRequest) {
    const { metadata } = this.#call;
    const traceparent = textOf(metadata, 'traceparent');
    return {
      ingress: 'grpc' as const,
      request,
      peer: peer.certificate,
      token: bearerOf(textOf(metadata, 'authorization')),
      traceparent: parseTraceparent(traceparent) === null ? null : traceparent,
      remoteAddress: peer.remoteAddress,
      signal: this.#disconnected.signal,
    };
  }

  /** Sends the latest progress; a slow reader skips intermediate ones. */
  #sendProgress({ response }: Reply): void {
    if (this.#ended || response.mac.length === 0) return;
    const bytes = this.#context.wire.encodeAnswer({ response, final: false });
    if (this.#outputBytes > 0) this.#held = bytes;
    else this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    this.#outputBytes += bytes.length;
    this.#peer?.sending(bytes.length);
    this.#call.write(bytes, () => {
      if (this.#outputBytes === 0) return;
      this.#outputBytes -= bytes.length;
      this.#peer?.sent(bytes.length);
      const held = this.#held;
      this.#held = null;
      if (held !== null && !this.#ended) this.#write(held);
    });
  }

  #end(bytes: Buffer): void {
    if (this.#ended) return;
    const held = this.#held;
    this.#held = null;
    if (held !== null) this.#write(held);
    this.#write(bytes);
    this.#ended = true;
    this.#call.end();
  }

  /**
   * Rejects an unidentified caller, for whom nothing can be signed, with a status and the unsigned response in
   * metadata.
   */
  #refuse({ response, code, retryAfterSecs }: Reply): void {
    const { Metadata } = this.#context.grpc;
    const metadata = new Metadata();
    const answer = this.#context.wire.encodeAnswer({ response, final: true });
    if (code !== null) metadata.set(CODE_METADATA, code);
    if (retryAfterSecs !== undefined) metadata.set('retry-after', String(Math.ceil(retryAfterSecs)));
    if (answer.length <= TRAILER_BYTES_MAX) metadata.set(ANSWER_METADATA, answer);
    this.fail(statusOf(code), `${code ?? 'INTERNAL'}: ${messageOf(response.payload)}`, metadata);
  }

  #refuseUnread(error: unknown): void {
    if (!(error instanceof RemoteFailure)) {
      this.#context.log.error({ err: error, listener: 'grpc' }, 'could not handle a request');
    }
    const failure = error instanceof RemoteFailure ? error : new RemoteFailure('INTERNAL');
    const unread = { key_id: '', timestamp_ms: 0, nonce: '', client: '', audience: '', method: 'status' as const };
    const response = {
      ...unread,
      correlation_id: '',
      sequence: 0,
      payload: refusalPayload(failure, this.#context.clock.now()),
      mac: new Uint8Array(0),
    };
    this.#refuse({ response, code: failure.code, pending: false, retryAfterSecs: failure.retryAfterSecs });
  }
}

const STATUS_OF_CODE: Partial<Record<RemoteCode, keyof typeof GRPC_STATUS>> = {
  UNAUTHENTICATED: 'UNAUTHENTICATED',
  EXPIRED: 'UNAUTHENTICATED',
  INVALID_CHECKSUM: 'UNAUTHENTICATED',
  REPLAYED: 'UNAUTHENTICATED',
  QUEUE_FULL: 'RESOURCE_EXHAUSTED',
  SHUTTING_DOWN: 'UNAVAILABLE',
  INTERNAL: 'INTERNAL',
};

function statusOf(code: Reply['code']): keyof typeof GRPC_STATUS {
  return code === null ? 'INTERNAL' : (STATUS_OF_CODE[code] ?? 'INVALID_ARGUMENT');
}

function messageOf(payload: Uint8Array): string {
  try {
    const { message } = JSON.parse(Buffer.from(payload).toString('utf8')) as { message?: unknown };
    return typeof message === 'string' ? message : '';
  } catch {
    return '';
  }
}

/** Restricts a status to characters allowed in a header; others could crash a client library. */
function printable(text: string): string {
  return text.slice(0, STATUS_TEXT_MAX).replaceAll(/[^\x20-\x7e]/g, '?');
}

function textOf(metadata: Metadata, name: string): string | null {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : null;
}

function bearerOf(authorization: string | null): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
}
