import { CONNECTION_LIMITS, PAYLOAD_BYTES_MAX, type ConnectionLimits } from '../listener.ts';

export interface XmlRpcLimits extends ConnectionLimits {
  /** Maximum document size; base64 expands three bytes to four. */
  document_bytes_max: number;
  /** Unread responses of a connection, by size and time; it is cut beyond either. */
  output_bytes_max: number;
  output_ms: number;
  /** Incomplete documents of all connections together, bytes. */
  partial_bytes_max: number;
}

export const XMLRPC_LIMITS: XmlRpcLimits = {
  ...CONNECTION_LIMITS,
  /** Clients rarely pipeline requests. */
  in_flight_max: 8,
  document_bytes_max: Math.ceil((PAYLOAD_BYTES_MAX * 4) / 3) + 256 * 1024,
  output_bytes_max: 16 * 1024 * 1024,
  output_ms: 30_000,
  partial_bytes_max: 256 * 1024 * 1024,
};
