import { ANSWER_BYTES_MAX, CONNECTION_LIMITS, PAYLOAD_BYTES_MAX, type ConnectionLimits } from '../listener.ts';

export interface GrpcLimits extends ConnectionLimits {
  /** Of one request. */
  message_bytes_max: number;
  /** Answers that one connection has not taken yet: beyond them it is cut soon, and in any case after `output_ms`. */
  output_bytes_max: number;
  output_ms: number;
  /** Requests that are not complete or wait for their answer, of all connections together. */
  held_bytes_max: number;
  keepalive_ms: number;
  keepalive_timeout_ms: number;
  /** A connection is told to go after this time, and cut after the grace: balancers and new certificates get their turn. */
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

/** Of one answer: how large results may be is the executor's setting. */
export const ANSWER_MESSAGE_BYTES_MAX = ANSWER_BYTES_MAX + 64 * 1024;
