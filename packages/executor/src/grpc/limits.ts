import { ANSWER_BYTES_MAX, CONNECTION_LIMITS, PAYLOAD_BYTES_MAX, type ConnectionLimits } from '../listener.ts';

export interface GrpcLimits extends ConnectionLimits {
  /** Maximum size of a request, bytes. */
  message_bytes_max: number;
  /**
   * Unread response bytes of a connection, beyond which a stalled one is cut early; without progress it is cut after
   * `output_ms`.
   */
  output_bytes_max: number;
  output_ms: number;
  /** Bytes of incomplete or unanswered requests, of all connections together. */
  held_bytes_max: number;
  keepalive_ms: number;
  keepalive_timeout_ms: number;
  /**
   * Age after which a connection is asked to close, and the grace period before it is cut; lets load balancers and new
   * certificates take effect.
   */
  connection_age_ms: number;
  connection_age_grace_ms: number;
}

export const GRPC_LIMITS: GrpcLimits = {
  ...CONNECTION_LIMITS,
  message_bytes_max: PAYLOAD_BYTES_MAX + 64 * 1024,
  output_bytes_max: 16 * 1024 * 1024,
  output_ms: 30_000,
  held_bytes_max: 512 * 1024 * 1024,
  keepalive_ms: 60_000,
  keepalive_timeout_ms: 20_000,
  connection_age_ms: 1_800_000,
  connection_age_grace_ms: 330_000,
};

/** Maximum size of an answer; the size of results is a setting of the executor. */
export const ANSWER_MESSAGE_BYTES_MAX = ANSWER_BYTES_MAX + 64 * 1024;
