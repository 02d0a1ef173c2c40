import type { RemoteCode } from '../protocol/codes.ts';
import type { SignedResponse } from '../protocol/envelope.ts';
import type { Ingress, Tier } from '../protocol/messages.ts';
import type { Received } from '../security/port.ts';

export interface Reply {
  readonly response: SignedResponse;
  /** Null if it is not an error. */
  readonly code: RemoteCode | null;
  /** Whether the task has not ended yet. */
  readonly pending: boolean;
  readonly retryAfterSecs: number | undefined;
}

/** Interface of the manager for all listeners. */
export interface RemoteManager {
  /**
   * Handles one request; never throws. A synchronous submission resolves when its task has ended.
   *
   * @param onProgress receives progress replies, for protocols that support them
   */
  handle(received: Received, onProgress?: (reply: Reply) => void): Promise<Reply>;
  health(): Health;
}

/** Body of `GET /healthz`. */
export interface Health {
  status: 'healthy' | 'draining' | 'degraded';
  workers: number;
  busy: number;
  queue_depth: number;
  uptime_seconds: number;
  tier: Tier;
  listeners: readonly Ingress[];
  /** Why it is degraded; otherwise absent. */
  reason?: string;
}
