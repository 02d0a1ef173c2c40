import { RemoteFailure } from './codes.ts';
import { REMOTE_METHODS } from './messages.ts';

/** Name of a client or audience: 1 to 128 of `A-Z a-z 0-9 . _ : @ / -`, compared byte by byte. */
export const CLIENT_NAME = /^[A-Za-z0-9._:@/-]{1,128}$/;
/** 1 to 64 of `A-Z a-z 0-9 . _ -`. */
export const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** 22 characters of base64url: 16 bytes. */
export const NONCE = /^[A-Za-z0-9_-]{22}$/;

const METHODS: ReadonlySet<unknown> = new Set(REMOTE_METHODS);

/** An untyped request as read by a transport. */
export type UncheckedEnvelope = Readonly<
  Record<'key_id' | 'timestamp_ms' | 'nonce' | 'client' | 'audience' | 'method' | 'payload' | 'mac', unknown>
>;

/**
 * Verifies the form of every envelope field. The MAC must only be bytes: a wrong length counts as a wrong MAC.
 *
 * @throws RemoteFailure MALFORMED, with one detail per fault
 */
export function checkEnvelope(request: UncheckedEnvelope): void {
  if (isWellFormed(request)) return;
  throw new RemoteFailure('MALFORMED', 'The envelope of the request is invalid', { details: faultsOf(request) });
}

function isWellFormed(request: UncheckedEnvelope): boolean {
  return (
    isText(request.key_id, KEY_ID) &&
    isTimestamp(request.timestamp_ms) &&
    isText(request.nonce, NONCE) &&
    isText(request.client, CLIENT_NAME) &&
    isText(request.audience, CLIENT_NAME) &&
    METHODS.has(request.method) &&
    request.payload instanceof Uint8Array &&
    request.mac instanceof Uint8Array
  );
}

function faultsOf(request: UncheckedEnvelope): string[] {
  const faults: string[] = [];
  const check = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  check(isText(request.key_id, KEY_ID), 'key_id: must be 1 to 64 of A-Z a-z 0-9 . _ -');
  check(isTimestamp(request.timestamp_ms), 'timestamp_ms: must be whole milliseconds since the epoch');
  check(isText(request.nonce, NONCE), 'nonce: must be 16 bytes in base64url, 22 characters without padding');
  check(isText(request.client, CLIENT_NAME), 'client: must be 1 to 128 of A-Z a-z 0-9 . _ : @ / -');
  check(isText(request.audience, CLIENT_NAME), 'audience: must be 1 to 128 of A-Z a-z 0-9 . _ : @ / -');
  check(METHODS.has(request.method), `method: must be one of ${REMOTE_METHODS.join(', ')}`);
  check(request.payload instanceof Uint8Array, 'payload: must be bytes');
  check(request.mac instanceof Uint8Array, 'mac: must be bytes');
  return faults;
}

function isText(value: unknown, form: RegExp): boolean {
  return typeof value === 'string' && form.test(value);
}

function isTimestamp(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
