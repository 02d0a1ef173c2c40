import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import type { Protocol } from '../protocol/messages.ts';

export interface Endpoint {
  readonly protocol: Protocol;
  readonly host: string;
  readonly port: number;
  /** False on loopback only. */
  readonly tls: boolean;
}

/** Certificates in PEM. */
export interface ClientTls {
  /** Authorities that the executor's certificate must come from. */
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name to expect in the certificate; the endpoint's host by default. */
  readonly servername?: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly token: string | null;
  readonly traceparent: string | null;
  /** For answers on the way: set where the caller wants them; a protocol that has none never calls it. */
  readonly onProgress?: (response: SignedResponse) => void;
}

/** One endpoint over one protocol: carries bytes, checks no MAC. */
export interface ClientTransport {
  readonly endpoint: Endpoint;
  /** The final answer. @throws TransportFailure */
  call(request: SignedRequest, options: CallOptions): Promise<SignedResponse>;
  close(): Promise<void>;
}

/** A call that brought no answer. */
export class TransportFailure extends Error {
  /** Whether the executor may have received the request; where not, another one can be asked without a second thought. */
  readonly maybeReceived: boolean;

  constructor(message: string, maybeReceived: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TransportFailure';
    this.maybeReceived = maybeReceived;
  }
}
