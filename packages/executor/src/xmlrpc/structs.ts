import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import type { RemoteMethod } from '../protocol/messages.ts';
import { malformed } from '../protocol/refusal.ts';
import { isStruct, type XmlRpcStruct, type XmlRpcValue } from './values.ts';

const MEMBERS = ['key_id', 'timestamp_ms', 'nonce', 'client', 'audience', 'payload', 'mac'] as const;
const REQUEST_MEMBERS: ReadonlySet<string> = new Set(MEMBERS);
/** Milliseconds do not fit into XML-RPC's 32-bit integers. */
const WHOLE_NUMBER = /^(0|[1-9]\d{0,15})$/;

/** Parses the struct of a call; values are validated elsewhere. @throws RemoteFailure MALFORMED */
export function readRequestStruct(method: RemoteMethod, params: readonly XmlRpcValue[]): SignedRequest {
  const [struct, ...others] = params;
  if (!isStruct(struct) || others.length > 0) throw malformed('params: must be one struct');
  for (const name of struct.keys())
    if (!REQUEST_MEMBERS.has(name)) throw malformed(`${name.slice(0, 64)}: is not a known member`);
  return { ...envelope(struct), method, payload: bytes(struct, 'payload'), mac: bytes(struct, 'mac') };
}

/** Parses the struct of a response; unknown members are ignored. @throws RemoteFailure MALFORMED */
export function readResponseStruct(method: RemoteMethod, struct: XmlRpcValue): SignedResponse {
  if (!isStruct(struct)) throw malformed('value: must be a struct');
  const sequence = struct.get('sequence');
  if (typeof sequence !== 'number' || sequence < 0) throw malformed('sequence: must be a non-negative int');
  return {
    ...envelope(struct),
    method,
    correlation_id: text(struct, 'correlation_id'),
    sequence,
    payload: bytes(struct, 'payload'),
    mac: bytes(struct, 'mac'),
  };
}

export function requestStruct(request: SignedRequest): XmlRpcStruct {
  return new Map(MEMBERS.map((name) => [name, name === 'timestamp_ms' ? String(request[name]) : request[name]]));
}

export function responseStruct(response: SignedResponse): XmlRpcStruct {
  const { correlation_id, sequence, ...fields } = response;
  const members = MEMBERS.map((name): [string, XmlRpcValue] => [
    name,
    name === 'timestamp_ms' ? String(fields[name]) : fields[name],
  ]);
  return new Map([...members, ['correlation_id', correlation_id], ['sequence', sequence]]);
}

function envelope(
  struct: XmlRpcStruct,
): Pick<SignedRequest, 'key_id' | 'timestamp_ms' | 'nonce' | 'client' | 'audience'> {
  const timestamp = text(struct, 'timestamp_ms');
  if (!WHOLE_NUMBER.test(timestamp)) throw malformed('timestamp_ms: must be a whole number, as a string');
  return {
    key_id: text(struct, 'key_id'),
    timestamp_ms: Number(timestamp),
    nonce: text(struct, 'nonce'),
    client: text(struct, 'client'),
    audience: text(struct, 'audience'),
  };
}

function text(struct: XmlRpcStruct, name: string): string {
  const value = struct.get(name);
  if (typeof value !== 'string') throw malformed(`${name}: must be a string`);
  return value;
}

function bytes(struct: XmlRpcStruct, name: string): Uint8Array {
  const value = struct.get(name);
  if (!(value instanceof Uint8Array)) throw malformed(`${name}: must be base64`);
  return value;
}
