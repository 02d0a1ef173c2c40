import { CONNECTION_LIMITS, type ConnectionLimits } from '../listener.ts';

export interface HttpLimits extends ConnectionLimits {
  /** Of the request line and the headers together. */
  header_bytes_max: number;
  /** Of the payload of a poll. */
  body_bytes_max: number;
  /** How long an answer may wait to be taken. */
  output_ms: number;
}

export const HTTP_LIMITS: HttpLimits = {
  ...CONNECTION_LIMITS,
  /** Few clients send a request before the last one was answered. */
  in_flight_max: 8,
  header_bytes_max: 16 * 1024,
  body_bytes_max: 64 * 1024,
  output_ms: 30_000,
};
