import type { RemoteMethod } from './messages.ts';

/** A request as it travels, whatever the protocol: who sends what, when, and the MAC over the bytes of all of it. */
export interface SignedRequest {
  readonly key_id: string;
  /** When it was signed, milliseconds since the epoch. */
  readonly timestamp_ms: number;
  /** 16 random bytes in base64url, 22 characters. Never used twice. */
  readonly nonce: string;
  /** Who sends it. */
  readonly client: string;
  /** The executor, or group of executors, that it is meant for. */
  readonly audience: string;
  readonly method: RemoteMethod;
  /** The bytes of a JSON object, exactly as signed. */
  readonly payload: Uint8Array;
  /** HMAC-SHA-256, 32 bytes. */
  readonly mac: Uint8Array;
}

/** An answer as it travels. It names the nonce of the request, so that it fits no other one. */
export interface SignedResponse {
  readonly key_id: string;
  readonly timestamp_ms: number;
  /** Of the request. */
  readonly nonce: string;
  readonly client: string;
  readonly audience: string;
  readonly method: RemoteMethod;
  /** Empty where no task came of the request. */
  readonly correlation_id: string;
  /** 0 for the only or first answer to a request; a stream counts on. */
  readonly sequence: number;
  readonly payload: Uint8Array;
  /** Empty where the executor does not know the key that the request named. */
  readonly mac: Uint8Array;
}
