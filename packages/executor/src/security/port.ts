import type { SignedRequest } from '../protocol/envelope.ts';
import type { Ingress } from '../protocol/messages.ts';

/** `active`: signs; `accepted`: still verified during a rotation; `retired`: rejected. */
export type KeyState = 'active' | 'accepted' | 'retired';

/** Keys of one client and key id, one per direction, so that no request can pass for a response. */
export interface DirectionKeys {
  readonly state: KeyState;
  readonly request: Uint8Array;
  readonly response: Uint8Array;
}

export interface KeyLookup {
  /** Returns null for an unknown id. Derived keys are cached. */
  find(keyId: string, client: string): DirectionKeys | null;
}

/** The caller's certificate, as seen by the transport. */
export interface PeerCertificate {
  /** Subject alternative names: DNS names and URIs, unchanged. */
  readonly names: readonly string[];
  readonly fingerprint: string;
  readonly der: Uint8Array;
}

/** A request with its transport metadata. */
export interface Received {
  readonly ingress: Ingress;
  readonly request: SignedRequest;
  /** Null if no client certificate was presented. */
  readonly peer: PeerCertificate | null;
  /** Bearer token; null if none was sent. */
  readonly token: string | null;
  readonly traceparent: string | null;
  readonly remoteAddress: string;
  /** Task id in the path of a poll over HTTP; absent otherwise. */
  readonly pathCorrelationId?: string;
  /** Aborts when the connection is gone. */
  readonly signal: AbortSignal;
}

/** An authenticated caller. */
export interface Caller {
  readonly client: string;
  /** Null if no tokens are configured: every caller may do what the allow-list allows. */
  readonly scopes: readonly string[] | null;
  /** Keys to sign responses. */
  readonly keys: DirectionKeys;
}

export interface Authenticator {
  /**
   * Verifies key, age, MAC, replay and identity, in this order.
   *
   * @throws RemoteFailure UNAUTHENTICATED, EXPIRED, INVALID_CHECKSUM, REPLAYED, FORBIDDEN, QUEUE_FULL (replay memory)
   */
  authenticate(received: Received): Promise<Caller>;
  close(): Promise<void>;
}
