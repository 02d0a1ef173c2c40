import type { Client, ClientReadableStream, Metadata, ServiceError, StatusObject } from '@grpc/grpc-js';

import type { Clock } from '@heddle/base/clock';
import { TransportFailure, type CallOptions } from '../client/port.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import type { GrpcPackage } from './packages.ts';
import { ANSWER_METADATA, type GrpcWire } from './wire.ts';

/** Parts needed to make a call. */
export interface CallingParts {
  readonly grpc: GrpcPackage;
  readonly wire: GrpcWire;
  readonly client: Client;
  readonly clock: Clock;
  readonly connectMs: number;
  /** Name of the peer in failures. */
  readonly name: string;
}

/** Makes one call, which is in `activeCalls` until it ends. @throws TransportFailure */
export function callOver(
  parts: CallingParts,
  request: SignedRequest,
  options: CallOptions,
  activeCalls: Set<Closeable>,
): Promise<SignedResponse> {
  return new Promise((resolve, reject) => {
    const calling = new Calling(parts, options, { resolve, reject }, () => activeCalls.delete(calling));
    activeCalls.add(calling);
    calling.start(request);
  });
}

/** A call in progress that can be closed by its transport. */
export interface Closeable {
  close(): void;
}

interface Settle {
  resolve: (response: SignedResponse) => void;
  reject: (failure: TransportFailure) => void;
}

/** One call in progress. */
class Calling implements Closeable {
  readonly #parts: CallingParts;
  readonly #options: CallOptions;
  readonly #settle: Settle;
  readonly #onEnd: () => void;
  /** Whether a connection was established during the call. */
  #connected = false;
  #stream: ClientReadableStream<Buffer> | null = null;
  #status: StatusObject | null = null;
  #answer: SignedResponse | null = null;
  #reason: TransportFailure | null = null;

  constructor(parts: CallingParts, options: CallOptions, settle: Settle, onEnd: () => void) {
    this.#parts = parts;
    this.#options = options;
    this.#settle = settle;
    this.#onEnd = onEnd;
  }

  start(request: SignedRequest): void {
    const { client, wire } = this.#parts;
    const path = this.#options.onProgress === undefined ? wire.callPath : wire.watchPath;
    const bytes = (message: Buffer): Buffer => message;
    const metadata = this.#metadata();
    const stream = client.makeServerStreamRequest(path, bytes, bytes, wire.encodeRequest(request), metadata, {});
    this.#stream = stream;
    this.#options.signal.addEventListener('abort', this.#onAbort, { once: true });
    stream.on('data', (message: Buffer) => this.#take(message));
    stream.on('error', () => undefined);
    stream.once('status', (status: StatusObject) => this.#finish(status));
    this.#watchConnection();
  }

  #metadata(): Metadata {
    const metadata = new this.#parts.grpc.Metadata();
    if (this.#options.token !== null) metadata.set('authorization', `Bearer ${this.#options.token}`);
    if (this.#options.traceparent !== null) metadata.set('traceparent', this.#options.traceparent);
    return metadata;
  }

  #watchConnection(): void {
    const { client, clock, connectMs, grpc } = this.#parts;
    this.#connected = client.getChannel().getConnectivityState(false) === grpc.connectivityState.READY;
    if (this.#connected) return;
    client.waitForReady(new Date(clock.now() + connectMs), (error) => {
      if (error === undefined) this.#connected = true;
      else if (!this.#wasSent()) this.end(this.#failure(`no connection within ${connectMs} ms`, false));
    });
  }

  readonly #onAbort = (): void => this.end(canceled(this.#wasSent(), this.#options.signal));

  /**
   * Returns whether the request was sent. Until a connection is picked, the peer is the channel's target, or unknown
   * while the library may retry.
   */
  #wasSent(): boolean {
    if (this.#status === null) return this.#connected;
    const peer = this.#stream?.getPeer() ?? 'unknown';
    return peer !== 'unknown' && peer !== this.#parts.client.getChannel().getTarget();
  }

  #take(message: Buffer): void {
    try {
      const { response, final } = this.#parts.wire.decodeAnswer(message);
      if (final) this.#answer = response;
      else this.#options.onProgress?.(response);
    } catch (error) {
      this.end(this.#failure('the response cannot be decoded', true, error));
    }
  }

  /** Ends the call because the transport closes. */
  close(): void {
    this.end(this.#failure('the transport is closed', this.#wasSent()));
  }

  /** Ends the call from this side. */
  end(reason: TransportFailure): void {
    this.#reason ??= reason;
    this.#stream?.cancel();
  }

  #finish(status: StatusObject): void {
    this.#status = status;
    this.#onEnd();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    if (this.#reason !== null) this.#settle.reject(this.#reason);
    else if (status.code === this.#parts.grpc.status.OK && this.#answer !== null) this.#settle.resolve(this.#answer);
    else {
      const refusal = this.#refusalOf(status);
      if (refusal !== null) this.#settle.resolve(refusal);
      else this.#settle.reject(this.#failureOf(status));
    }
  }

  /** Returns the unsigned response of the executor; null if the transport itself failed. */
  #refusalOf({ metadata }: StatusObject): SignedResponse | null {
    const [bytes] = metadata.get(ANSWER_METADATA);
    if (!Buffer.isBuffer(bytes)) return null;
    try {
      return this.#parts.wire.decodeAnswer(bytes).response;
    } catch {
      return null;
    }
  }

  #failureOf({ code, details, metadata }: StatusObject): TransportFailure {
    const { status } = this.#parts.grpc;
    const cause: Partial<ServiceError> = Object.assign(new Error(details), { code, details, metadata });
    const sent = this.#wasSent() && code !== status.UNIMPLEMENTED;
    if (code === status.OK) return this.#failure('the call ended without a response', true, cause);
    return this.#failure(`${status[code]}: ${details}`, sent, cause);
  }

  #failure(message: string, maybeReceived: boolean, cause?: unknown): TransportFailure {
    return new TransportFailure(`${this.#parts.name}: ${message}`, maybeReceived, cause);
  }
}

export function canceled(maybeReceived: boolean, signal: AbortSignal): TransportFailure {
  return new TransportFailure('the call was aborted by its caller', maybeReceived, signal.reason);
}
