import type { RemoteMethod } from './messages.ts';

/** A signed request, independent of the protocol; the MAC covers all other fields. */
export interface SignedRequest {
  readonly key_id: string;
  /** Time of signing, milliseconds since the epoch. */
  readonly timestamp_ms: number;
  /** 16 random bytes in base64url, 22 characters. Never reused. */
  readonly nonce: string;
  /** The sending client. */
  readonly client: string;
  /** The executor, or group of executors, that may handle it. */
  readonly audience: string;
  readonly method: RemoteMethod;
  /** Encoded JSON object, exactly as signed. */
  readonly payload: Uint8Array;
  /** HMAC-SHA-256, 32 bytes. */
  readonly mac: Uint8Array;
}

/** A signed response. It carries the nonce of its request, so that it cannot answer another one. */
export interface SignedResponse {
  readonly key_id: string;
  readonly timestamp_ms: number;
  /** Nonce of the request. */
  readonly nonce: string;
  readonly client: string;
  readonly audience: string;
  readonly method: RemoteMethod;
  /** Empty if the request created or named no task. */
  readonly correlation_id: string;
  /** 0 for the only or first answer to a request; increases in a stream. */
  readonly sequence: number;
  readonly payload: Uint8Array;
  /** Empty if the executor does not know the key named by the request. */
  readonly mac: Uint8Array;
}
