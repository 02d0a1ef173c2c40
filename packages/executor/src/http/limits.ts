import { CONNECTION_LIMITS, type ConnectionLimits } from '../listener.ts';

export interface HttpLimits extends ConnectionLimits {
  /** Maximum size of the request line and headers together, bytes. */
  header_bytes_max: number;
  /** Maximum size of a poll's payload, bytes. */
  body_bytes_max: number;
  /** Time for the peer to take a response, ms. */
  output_ms: number;
}

export const HTTP_LIMITS: HttpLimits = {
  ...CONNECTION_LIMITS,
  /** Clients rarely pipeline requests. */
  in_flight_max: 8,
  header_bytes_max: 16 * 1024,
  body_bytes_max: 64 * 1024,
  output_ms: 30_000,
};
