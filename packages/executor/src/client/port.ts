import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import type { Protocol } from '../protocol/messages.ts';

export interface Endpoint {
  readonly protocol: Protocol;
  readonly host: string;
  readonly port: number;
  /** False on loopback only. */
  readonly tls: boolean;
}

/** PEM-encoded certificates. */
export interface ClientTls {
  /** Authorities trusted to issue the executor's certificate. */
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  /** Expected name in the certificate; default: the endpoint's host. */
  readonly servername?: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly token: string | null;
  readonly traceparent: string | null;
  /** Called for progress responses, if the caller wants them; protocols without progress never call it. */
  readonly onProgress?: (response: SignedResponse) => void;
}

/** Carries bytes to one endpoint over one protocol; verifies no MAC. */
export interface ClientTransport {
  readonly endpoint: Endpoint;
  /** Returns the final response. @throws TransportFailure */
  call(request: SignedRequest, options: CallOptions): Promise<SignedResponse>;
  close(): Promise<void>;
}

/** A call without a response. */
export class TransportFailure extends Error {
  /** Whether the executor may have received the request; if not, another endpoint can be tried safely. */
  readonly maybeReceived: boolean;

  constructor(message: string, maybeReceived: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TransportFailure';
    this.maybeReceived = maybeReceived;
  }
}
