import { CONNECTION_LIMITS, PAYLOAD_BYTES_MAX, type ConnectionLimits } from '../listener.ts';

export interface XmlRpcLimits extends ConnectionLimits {
  /** Of one document: base64 makes four bytes of three. */
  document_bytes_max: number;
  /** Answers that one connection has not taken yet: beyond either, it is cut. */
  output_bytes_max: number;
  output_ms: number;
  /** Parts of documents, of all connections together. */
  partial_bytes_max: number;
}

export const XMLRPC_LIMITS: XmlRpcLimits = {
  ...CONNECTION_LIMITS,
  /** Few clients send a request before the last one was answered. */
  in_flight_max: 8,
  document_bytes_max: Math.ceil((PAYLOAD_BYTES_MAX * 4) / 3) + 256 * 1024,
  output_bytes_max: 16 * 1024 * 1024,
  output_ms: 30_000,
  partial_bytes_max: 256 * 1024 * 1024,
};
