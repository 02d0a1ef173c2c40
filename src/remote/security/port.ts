import type { SignedRequest } from '../protocol/envelope.ts';
import type { Ingress } from '../protocol/messages.ts';

/** `active`: to sign with; `accepted`: still checked while clients change over; `retired`: refused by name. */
export type KeyState = 'active' | 'accepted' | 'retired';

/** The keys of one client for one key id: one for each direction, so that no request passes for an answer. */
export interface DirectionKeys {
  readonly state: KeyState;
  readonly request: Uint8Array;
  readonly response: Uint8Array;
}

export interface KeyLookup {
  /** Null where the id is not known. Derived keys are remembered, so that asking again costs nothing. */
  find(keyId: string, client: string): DirectionKeys | null;
}

/** What the transport knows of the caller's certificate. */
export interface PeerCertificate {
  /** The subject alternative names: DNS names and URIs, as they stand. */
  readonly names: readonly string[];
  readonly fingerprint: string;
  readonly der: Uint8Array;
}

/** A request with all that its transport knows of it. */
export interface Received {
  readonly ingress: Ingress;
  readonly request: SignedRequest;
  /** Null where no client certificate was presented. */
  readonly peer: PeerCertificate | null;
  /** The bearer token; null where none was sent. */
  readonly token: string | null;
  readonly traceparent: string | null;
  readonly remoteAddress: string;
  /** The task that the path of a poll over HTTP names; absent elsewhere. */
  readonly pathCorrelationId?: string;
  /** Aborts when the connection is gone. */
  readonly signal: AbortSignal;
}

/** Who asks, once everything about it was checked. */
export interface Caller {
  readonly client: string;
  /** Null where no token is configured: what the allow-list allows, everybody may do. */
  readonly scopes: readonly string[] | null;
  /** Keys to sign the answers with. */
  readonly keys: DirectionKeys;
}

export interface Authenticator {
  /**
   * Checks key, age, MAC, replay and identity, in this order.
   *
   * @throws RemoteFailure UNAUTHENTICATED, EXPIRED, INVALID_CHECKSUM, REPLAYED, FORBIDDEN, QUEUE_FULL (replay memory)
   */
  authenticate(received: Received): Promise<Caller>;
  close(): Promise<void>;
}
