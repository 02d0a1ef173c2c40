import { CONNECTION_LIMITS, PAYLOAD_BYTES_MAX, type ConnectionLimits } from '../listener.ts';

export interface TcpLimits extends ConnectionLimits {
  /** What follows the length of a frame. */
  frame_bytes_max: number;
  /** Answers that one connection has not taken yet: beyond either, it is cut. */
  output_bytes_max: number;
  output_ms: number;
  /** Parts of requests, of all connections together. */
  partial_bytes_max: number;
}

export const TCP_LIMITS: TcpLimits = {
  ...CONNECTION_LIMITS,
  frame_bytes_max: PAYLOAD_BYTES_MAX + 64 * 1024,
  output_bytes_max: 16 * 1024 * 1024,
  output_ms: 30_000,
  partial_bytes_max: 256 * 1024 * 1024,
};
