import { CONNECTION_LIMITS, PAYLOAD_BYTES_MAX, type ConnectionLimits } from '../listener.ts';

export interface TcpLimits extends ConnectionLimits {
  /** Size of a frame after its length field, bytes. */
  frame_bytes_max: number;
  /** Unread responses of a connection, by size and time; it is cut beyond either. */
  output_bytes_max: number;
  output_ms: number;
  /** Incomplete requests of all connections together, bytes. */
  partial_bytes_max: number;
}

export const TCP_LIMITS: TcpLimits = {
  ...CONNECTION_LIMITS,
  frame_bytes_max: PAYLOAD_BYTES_MAX + 64 * 1024,
  output_bytes_max: 16 * 1024 * 1024,
  output_ms: 30_000,
  partial_bytes_max: 256 * 1024 * 1024,
};
