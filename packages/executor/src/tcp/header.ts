import type { JsonValue } from '@heddle/base/json';
import { HeddleError } from '@heddle/base/errors';
import { parseStrictJson } from '@heddle/base/json/parse';
import { RemoteFailure } from '../protocol/codes.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import { REMOTE_METHODS, type RemoteMethod } from '../protocol/messages.ts';
import { malformed } from '../protocol/refusal.ts';
import type { Frame } from './frames.ts';

/** A request as framed. */
export interface FramedRequest {
  /** Chosen by the client and echoed in responses. */
  readonly id: number;
  readonly request: SignedRequest;
  readonly token: string | null;
  readonly traceparent: string | null;
  /** Whether progress responses are wanted. */
  readonly progress: boolean;
}

export interface FramedResponse {
  /** Null if the executor could not identify the request. */
  readonly id: number | null;
  /** False for progress responses. */
  readonly final: boolean;
  /** The method is empty if the executor could not read it. */
  readonly response: Omit<SignedResponse, 'method'> & { readonly method: RemoteMethod | '' };
}

/** An invalid header, with the request's id if it is readable. */
export class HeaderFault extends Error {
  readonly id: number | null;
  readonly failure: RemoteFailure;

  constructor(id: number | null, failure: RemoteFailure) {
    super(failure.message, { cause: failure });
    this.name = 'HeaderFault';
    this.id = id;
    this.failure = failure;
  }
}

type Members = Record<string, JsonValue | undefined>;

const ID_MIN = 1;
export const ID_MAX = 2 ** 32 - 1;
/** A header is a flat object. */
const HEADER_DEPTH_MAX = 2;
const METHODS: ReadonlySet<unknown> = new Set(REMOTE_METHODS);
const BASE64URL = /^[A-Za-z0-9_-]*$/;

const REQUEST_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'key_id',
  'timestamp_ms',
  'nonce',
  'client',
  'audience',
  'method',
  'mac',
  'token',
  'traceparent',
  'progress',
]);

/** Parses a frame from a client; values are validated elsewhere. @throws HeaderFault */
export function readRequest(frame: Frame): FramedRequest {
  const members = parseHeader(frame.header);
  const id = isId(members['id']) ? members['id'] : null;
  try {
    if (id === null) throw malformed(`id: must be a whole number from ${ID_MIN} to ${ID_MAX}`);
    for (const name in members)
      if (!REQUEST_MEMBERS.has(name)) throw malformed(`${name.slice(0, 64)}: is not a known member`);
    return {
      id,
      request: { ...envelope(members), method: method(members), payload: frame.payload, mac: mac(members) },
      token: optionalText(members, 'token'),
      traceparent: optionalText(members, 'traceparent'),
      progress: flag(members, 'progress', false),
    };
  } catch (error) {
    throw error instanceof RemoteFailure ? new HeaderFault(id, error) : error;
  }
}

/** Parses a frame from an executor; unknown members are ignored. @throws HeaderFault */
export function readResponse(frame: Frame): FramedResponse {
  const members = parseHeader(frame.header);
  const id = isId(members['id']) ? members['id'] : null;
  try {
    if (id === null && members['id'] !== null)
      throw malformed(`id: must be a whole number from ${ID_MIN} to ${ID_MAX}, or null`);
    return {
      id,
      final: flag(members, 'final', true),
      response: {
        ...envelope(members),
        method: members['method'] === '' ? '' : method(members),
        correlation_id: text(members, 'correlation_id'),
        sequence: wholeNumber(members, 'sequence'),
        payload: frame.payload,
        mac: mac(members),
      },
    };
  } catch (error) {
    throw error instanceof RemoteFailure ? new HeaderFault(id, error) : error;
  }
}

/** Builds a request header without absent members. */
export function requestHeader(framed: FramedRequest): object {
  const { request } = framed;
  return {
    id: framed.id,
    key_id: request.key_id,
    timestamp_ms: request.timestamp_ms,
    nonce: request.nonce,
    client: request.client,
    audience: request.audience,
    method: request.method,
    mac: base64url(request.mac),
    ...(framed.token === null ? {} : { token: framed.token }),
    ...(framed.traceparent === null ? {} : { traceparent: framed.traceparent }),
    ...(framed.progress ? { progress: true } : {}),
  };
}

export function responseHeader({ id, final, response }: FramedResponse): object {
  return {
    id,
    final,
    key_id: response.key_id,
    timestamp_ms: response.timestamp_ms,
    nonce: response.nonce,
    client: response.client,
    audience: response.audience,
    method: response.method,
    correlation_id: response.correlation_id,
    sequence: response.sequence,
    mac: base64url(response.mac),
  };
}

/** Builds the response to an unreadable frame. @param nowMs milliseconds since the epoch */
export function refusal(id: number | null, payload: Uint8Array, nowMs: number): FramedResponse {
  const unknown = { key_id: '', nonce: '', client: '', audience: '', method: '', correlation_id: '' } as const;
  return { id, final: true, response: { ...unknown, timestamp_ms: nowMs, sequence: 0, payload, mac: EMPTY } };
}

const EMPTY = new Uint8Array(0);

function parseHeader(bytes: Buffer): Members {
  let value: unknown;
  try {
    value = parseStrictJson(bytes, 'header', HEADER_DEPTH_MAX);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const details = error.details.map((detail) => detail.replace(/^body:/, 'header:'));
    throw new HeaderFault(null, new RemoteFailure('MALFORMED', undefined, { details }));
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw new HeaderFault(null, malformed('header: must be an object'));
}

function envelope(members: Members): Pick<SignedRequest, 'key_id' | 'timestamp_ms' | 'nonce' | 'client' | 'audience'> {
  return {
    key_id: text(members, 'key_id'),
    timestamp_ms: wholeNumber(members, 'timestamp_ms'),
    nonce: text(members, 'nonce'),
    client: text(members, 'client'),
    audience: text(members, 'audience'),
  };
}

function text(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== 'string') throw malformed(`${name}: must be a string`);
  return value;
}

function optionalText(members: Members, name: string): string | null {
  return members[name] === undefined ? null : text(members, name);
}

function wholeNumber(members: Members, name: string): number {
  const value = members[name];
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw malformed(`${name}: must be a non-negative integer`);
  return value as number;
}

function flag(members: Members, name: string, fallback: boolean): boolean {
  const value = members[name] ?? fallback;
  if (typeof value !== 'boolean') throw malformed(`${name}: must be true or false`);
  return value;
}

function method(members: Members): RemoteMethod {
  const value = members['method'];
  if (!METHODS.has(value)) throw malformed(`method: must be one of ${REMOTE_METHODS.join(', ')}`);
  return value as RemoteMethod;
}

function mac(members: Members): Buffer {
  const value = text(members, 'mac');
  const bytes = Buffer.from(value, 'base64url');
  if (!BASE64URL.test(value) || bytes.toString('base64url') !== value) throw malformed('mac: must be base64url');
  return bytes;
}

function isId(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= ID_MIN && (value as number) <= ID_MAX;
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}
